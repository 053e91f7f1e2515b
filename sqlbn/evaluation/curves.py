"""Learning curves: the loss of several learners as the training set grows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlbn.data import Source
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.errors import OptionError
from sqlbn.evaluation.folds import PLACE, deal, fit_and_evaluate
from sqlbn.evaluation.metrics import positive_of_rows, without_nan
from sqlbn.learners import ALIASES, LEARNERS
from sqlbn.learners.registry import switch, takes
from sqlbn.options import FitOptions

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that are held out of every training set of a repeat: a tenth, but no more than this.
MOST_TEST_ROWS = 100_000


@dataclass(frozen=True)
class Point:
    """One learner at one size: the losses of the repeats."""

    learner: str
    size: int
    losses: tuple[dict[str, float], ...]
    positive: str | None = None

    def known(self, loss: str) -> list[float]:
        """A loss of the repeats that have it: test rows of one class alone have no AUC."""
        return [found[loss] for found in self.losses if not math.isnan(found[loss])]

    def mean(self, loss: str) -> float:
        """The mean of a loss over the repeats; NaN where none has it."""
        known = self.known(loss)
        return math.fsum(known) / len(known) if known else math.nan

    def deviation(self, loss: str) -> float:
        """The standard deviation over the repeats; 0 for a single one."""
        known = self.known(loss)
        if len(known) < 2:
            return 0.0
        mean = self.mean(loss)
        return math.sqrt(math.fsum((x - mean) ** 2 for x in known) / (len(known) - 1))

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        repeats = [without_nan(found) for found in self.losses]
        told = {"learner": self.learner, "size": self.size, "positive": self.positive}
        return {**told, "repeats": repeats}


def named_learner(text: str, options: FitOptions, given: Mapping[str, Any]) -> FitOptions:
    """Options for a learner written as in `kdb:3`: the number is k, for skdb kmax, for ande n.

    Of the options that only some learners take, it gets those that it knows.
    """
    name, _, number = text.partition(":")
    if name not in (*LEARNERS, *ALIASES) or (number and not number.isdigit()):
        known = ", ".join([*LEARNERS, *ALIASES])
        raise OptionError(f"--learners {text!r}: write {known}, with a number as in kdb:3")
    if number and name not in ("kdb", "skdb", "ande"):
        raise OptionError(f"--learners {text!r}: {name} takes no number")
    depth = int(number) if number else None
    own = {key: value for key, value in given.items() if takes(name, key)}
    if depth is not None:
        own[{"kdb": "k", "skdb": "kmax", "ande": "n"}[name]] = depth
    return replace(options, learner=name, **own)


def learning_curves(
    session: Session,
    source: Source,
    options: FitOptions,
    learners: Sequence[str],
    sizes: Sequence[int],
    repeats: int,
    progress: Progress,
    ranking: bool,
    given: Mapping[str, Any],
    asked: str | None = None,
) -> list[Point]:
    """Every learner on training sets of every size; in a repeat all meet the same rows."""
    if repeats < 1 or not sizes or min(sizes) < 1:
        raise OptionError("give at least one repeat, and sizes of at least 1 row")
    chosen = {text: named_learner(text, options, given) for text in learners}
    for option in given:
        if not any(takes(text.partition(":")[0], option) for text in learners):
            raise OptionError(f"{switch(option)} is for none of the learners {', '.join(learners)}")
    reduced = {text: learner.of_used_columns() for text, learner in chosen.items()}
    rows = int(session.row_engine.row(source.select("count(*)"))[0])
    test_rows = min(MOST_TEST_ROWS, max(1, rows // 10))
    if max(sizes) > rows - test_rows:
        raise OptionError(
            f"--sizes {max(sizes):,}: of {rows:,} rows {test_rows:,} are for testing; "
            f"give at most {rows - test_rows:,}"
        )
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    positive: str | None = None
    for repeat in range(repeats):
        dealt, kept = deal(
            session, source, options, session.settings.seed + repeat, stratified=False
        )
        test = dealt.filtered(f"{PLACE} < {test_rows}")
        if repeat == 0:
            positive = positive_of_rows(session, dealt, options, asked)
        for size in sizes:
            training = dealt.filtered(f"{PLACE} BETWEEN {test_rows} AND {test_rows + size - 1}")
            for text, learner in reduced.items():
                title = f"repeat {repeat + 1} of {repeats}, {size:,} rows, {text}"
                result = fit_and_evaluate(
                    session, training, test, learner, progress, title, ranking, positive
                )
                found.setdefault((text, size), []).append(result.losses)
        session.row_engine.forget(kept)
    return [Point(text, size, tuple(losses), positive) for (text, size), losses in found.items()]


def points_table(points: Sequence[Point]) -> pa.Table:
    """A row for every learner, size and repeat, with a column for every loss."""
    import pyarrow as pa

    rows = [
        {"learner": p.learner, "size": p.size, "repeat": number, "positive": p.positive, **losses}
        for p in points
        for number, losses in enumerate(map(without_nan, p.losses))
    ]
    fixed = {"learner": pa.string(), "size": pa.int64(), "repeat": pa.int64()}
    types = {**fixed, "positive": pa.string()}
    return pa.Table.from_pylist(
        rows, pa.schema([(name, types.get(name, pa.float64())) for name in rows[0]])
    )
