"""Tables of codes as a search sees them, and random hostile ones."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from random_tables import CLASSES, NAMES, attribute
from reference_search import Row

from sqlbn.engines import Session, Settings
from sqlbn.engines.relations import Encoded


@dataclass(frozen=True)
class Codes:
    """Rows of codes, the class last; `cards` may be more than the rows show."""

    rows: list[Row]
    cards: tuple[int, ...]

    @property
    def variables(self) -> int:
        return len(self.cards) - 1

    @property
    def fixed(self) -> tuple[int, ...]:
        """The class, where there is more than one."""
        return (self.variables,) if self.cards[-1] > 1 else ()

    @property
    def block(self) -> Any:
        """A line for every variable, as a stream gives it."""
        return np.array(self.rows, np.int64).reshape(len(self.rows), len(self.cards)).T

    @property
    def table(self) -> pa.Table:
        names = [*(f"x{i}" for i in range(self.variables)), "y"]
        columns = [pa.array([row[i] for row in self.rows], pa.uint16()) for i in range(len(names))]
        return pa.table(dict(zip(names, columns, strict=True)))


@contextmanager
def encoded(
    codes: Codes, file: Path | None = None, **settings: Any
) -> Iterator[tuple[Session, Encoded]]:
    """An engine with these codes in a table, or in a scratch file."""
    with Session(Settings(**settings)) as engine:
        if file is not None:
            pq.write_table(codes.table, file, row_group_size=1000)
            relation = f"read_parquet('{file}', hive_partitioning = false)"
        else:
            relation = "codes"
            engine.connection.register("given", codes.table)
            engine.execute("CREATE TABLE codes AS FROM given")
        yield engine, Encoded(relation, codes.cards, len(codes.rows), False, file)


def random_codes(
    rng: random.Random, rows: int, variables: int, most: int = 4, classes: int | None = None
) -> Codes:
    """Copies, near copies, constants, states that no row has, sometimes a single class."""
    columns: list[list[int]] = []
    cards: list[int] = []
    for _ in range(variables):
        card = rng.randint(1, most)
        how = rng.choice(("noise", "noise", "copy", "near", "sum", "constant"))
        column = [rng.randrange(card) for _ in range(rows)]
        if how == "copy" and columns:
            other = rng.randrange(len(columns))
            card, column = cards[other], list(columns[other])
        elif how == "near" and columns:
            other = rng.choice(columns)
            column = [
                v if rng.random() < 0.3 else o % card for v, o in zip(column, other, strict=True)
            ]
        elif how == "sum" and len(columns) > 1:
            one, other = rng.sample(columns, 2)
            column = [(a + b) % card for a, b in zip(one, other, strict=True)]
        elif how == "constant":
            column = [0] * rows
        columns.append(column)
        cards.append(card)
    order = rng.sample(range(variables), variables)
    n_classes = rng.choice((1, 1, 2, 3)) if classes is None else classes
    outcome = [rng.randrange(n_classes) for _ in range(rows)]
    if columns and rng.random() < 0.5:
        outcome = [v % n_classes for v in columns[0]]
    all_columns = [*(columns[i] for i in order), outcome]
    found = list(zip(*all_columns, strict=True))
    return Codes(found, (*(cards[i] for i in order), n_classes))


@st.composite
def code_tables(draw: st.DrawFn, rows: int = 40, variables: int = 5) -> Codes:
    scale = draw(st.sampled_from((0.0, 0.2, 0.5, *[1.0] * 5)))
    rng = random.Random(draw(st.integers(0, 2**64)))
    size = 1 + round(rng.randint(0, rows - 1) * scale)
    return random_codes(rng, size, rng.randint(1, variables))


def sets_of(rng: random.Random, codes: Codes, number: int) -> list[tuple[int, tuple[int, ...]]]:
    """Some variables with some parents."""
    found = []
    for _ in range(number):
        child = rng.randrange(codes.variables)
        others = [v for v in range(codes.variables) if v != child]
        found.append((child, tuple(sorted(rng.sample(others, rng.randint(0, len(others)))))))
    return found


def places(names: Sequence[str]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}


# ---- tables as people have them


def hostile_table(rng: random.Random, rows: int, width: int) -> pa.Table:
    """Columns of all kinds that depend on each other; `y` is a class, sometimes missing."""
    outcome = rng.choice(CLASSES)
    pool = rng.sample(outcome.usual, min(rng.choice((1, 2, 3)), len(outcome.usual)))
    classes = rng.choices([*pool, *rng.choice(([], [None]))], k=rows)
    classes[0] = pool[0]
    columns: dict[str, Any] = {}
    made: list[Any] = []
    for name in rng.sample(NAMES, width):
        made.append(attribute(rng, made, classes, 1))
        columns[name] = pa.array(made[-1][1], made[-1][0])
    useless = {
        "nothing": pa.nulls(rows, pa.string()),
        "same": pa.array(["k"] * rows),
        "id": pa.array([f"row {i}" for i in range(rows)]),
    }
    columns |= {name: column for name, column in useless.items() if rng.random() < 0.3}
    columns["y"] = pa.array(classes, outcome.type)
    return pa.table({name: columns[name] for name in rng.sample(list(columns), len(columns))})
