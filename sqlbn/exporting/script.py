"""A model as one SQL script: its tables, row by row, and the query that predicts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlbn import __version__
from sqlbn.encoding.codebook import by_column
from sqlbn.engines.sql import RESERVED, identifier, literal, literals, render, select_sql
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import ExportError, opt
from sqlbn.exporting.targets import (
    INPUT,
    TURNS_TABLE,
    PortableDialect,
    Target,
    Translator,
)
from sqlbn.kinds.compiler import Scorer, prediction_sql
from sqlbn.kinds.product.factor_tables import Factor
from sqlbn.store.spec import ModelSpec

# Room for `_implied_1234` and the like behind the model's name.
_PREFIX_BYTES = 40


def table_prefix(model: str) -> str:
    """What the tables of a model begin with.

    >>> table_prefix("adult"), table_prefix("élan vital 2")
    ('adult', '_lan_vital_2')
    """
    plain = re.sub(r"[^a-z0-9_]", "_", model.lower())[:_PREFIX_BYTES]
    return plain if plain[:1].isalpha() or plain.startswith("_") else f"m_{plain}"


def probability_columns(columns: Sequence[str], target: Target) -> list[str]:
    """The columns of the probabilities, shortened and rewritten where the target has to.

    >>> from sqlbn.exporting.targets import TARGETS
    >>> probability_columns(["p_<=50K", "p_>50K"], TARGETS["bigquery"])
    ['p___50K', 'p__50K']
    """
    found: list[str] = []
    for column in columns:
        name = re.sub(r"\W", "_", column, flags=re.ASCII) if target.plain_names else column
        found.append(_other(name, {other.lower() for other in found}, target))
    return found


def _other(name: str, taken: set[str], target: Target) -> str:
    """The name, with a number at its end where it is too long or there already."""
    number, free = 1, _cut(name, target.names)
    while free.lower() in taken or (number == 1 and free != name):
        number += 1
        end = f"_{number}"
        free = _cut(name, target.names and target.names - len(end)) + end
    return free


def _cut(name: str, most: int | None) -> str:
    return name if most is None else name.encode()[:most].decode(errors="ignore")


def check_columns(carried: Sequence[str], results: Sequence[str], target: Target) -> None:
    """An error where a script cannot name the input's columns."""
    taken = {name.lower() for name in ("prediction", *results)}
    for name in carried:
        if name.lower() in taken or name.lower().startswith(RESERVED):
            raise ExportError(
                f"the script would have two columns {name!r}, one of the input and one of the "
                f"prediction; choose others of the input with {opt('key')}"
            )
        if target.names is not None and len(name.encode()) > target.names:
            raise ExportError(
                f"the column {name[:40]!r}… has {len(name.encode())} bytes, a name in "
                f"{target.name} at most {target.names}; fit on a view with shorter names"
            )
        if "\x00" in name:
            raise ExportError(f"the name {name!r} holds a NUL character; rename the column")


_CATEGORIES = "predict_categories"


class Script:
    """Writes the script of one model for one target, in pieces."""

    def __init__(
        self,
        workspace: Workspace,
        spec: ModelSpec,
        target: Target,
        name: str,
        table: str,
        key: Sequence[str] = (),
        view: str | None = None,
    ) -> None:
        spec.require_class()
        self._workspace, self._spec, self._target, self._view = workspace, spec, target, view
        self._prefix = table_prefix(name)
        self._translator = Translator(target, table, self._table_name)
        self._scorer = self._make_scorer(tuple(key))

    def _make_scorer(self, key: tuple[str, ...]) -> Scorer:
        columns = {book.column: book.sql_type for book in self._spec.books}
        scorer = self._spec.scorer(None, columns, PortableDialect(self._target))
        used = tuple(by_column(scorer.books[v] for v in scorer.used))
        carried = tuple(dict.fromkeys(key)) or used
        if not carried:
            raise ExportError(
                "the model looks at no attribute; name a column of the input table with "
                f"{opt('key')}"
            )
        results = probability_columns(scorer.probability_columns, self._target)
        check_columns(carried, results, self._target)
        known = (scorer.books[v].categories or () for v in scorer.used)
        for value in (*scorer.class_names, *(value for values in known for value in values)):
            _check_text(value)
        check_columns(used, (), self._target)
        return replace(scorer, carried=carried, probability_columns=tuple(results))

    def _table_name(self, stored: str) -> str:
        return f"{self._prefix}_{stored.removeprefix('predict_')}"

    # -- pieces --------------------------------------------------------------------------------

    def pieces(self) -> Iterator[str]:
        """The whole script."""
        query = self._translator.query(prediction_sql(self._scorer, identifier(INPUT)))
        yield self._head()
        for stored, rows in self._tables():
            yield from self._table(stored, rows)
        if self._view is not None:
            view = self._translator.name(self._view)
            query = render("script/view", view=view, query=query)
        yield f"\n{query};\n"

    def _head(self) -> str:
        spec, scorer = self._spec, self._scorer
        used = by_column(scorer.books[v] for v in scorer.used)
        lines = [
            f"sqlbn {__version__}: {spec.meta['learner']} of {spec.target.name!r} "
            f"for {self._target.name}, {int(spec.meta['rows']):,} training rows.",
            "First the tables of the model, to be made once; then the prediction. Its input has",
            "these columns, with the types of training:",
            *(f"  {name!r} {book.sql_type}" for name, book in used.items()),
        ]
        return "".join(f"-- {line}\n" for line in lines)

    def _tables(self) -> Iterator[tuple[str, str]]:
        """The model's tables under the names that queries have for them, and queries for both."""
        workspace, scorer = self._workspace, self._scorer
        for factor in _tables_of(scorer.factors):
            yield factor, workspace.select(factor)
        for table in scorer.scoring.tables:
            yield table, workspace.select(table)
        if scorer.scoring.n_turns:
            yield TURNS_TABLE, _numbers(scorer.scoring.n_turns)
        joined = [
            scorer.books[v].name
            for v in scorer.used
            if scorer.books[v].is_joined_in(scorer.dialect)
        ]
        if joined:
            rows = select_sql(
                workspace.table("categories"),
                "attribute, code::BIGINT AS code, value",
                where=f"attribute IN ({literals(joined)}) AND value IS NOT NULL",
                order="attribute, code, value",
            )
            yield _CATEGORIES, rows

    def _table(self, stored: str, rows: str) -> Iterator[str]:
        write, name = self._translator, self._translator.name(self._table_name(stored))
        columns = self._workspace.session.columns(f"({rows})")
        listed = ", ".join(f"{write.name(column)} {write.type(kind)}" for column, kind in columns)
        made = render("script/table", table=name, columns=listed, end=self._target.table_end)
        yield f"\n{made};\n"
        names = ", ".join(write.name(column) for column, _ in columns)
        chunk: list[str] = []
        size, limits = 0, self._workspace.session.limits
        for values in self._values(rows):
            chunk.append(values)
            size += len(values)
            if len(chunk) == limits.insert_rows or size > limits.insert_characters:
                yield _insert(name, names, chunk)
                chunk, size = [], 0
        if chunk:
            yield _insert(name, names, chunk)

    def _values(self, rows: str) -> Iterator[str]:
        with self._workspace.session.batches(rows) as reader:
            for batch in reader:
                columns = [map(self._value, column.to_pylist()) for column in batch.columns]
                for row in zip(*columns, strict=True):
                    yield f"({', '.join(row)})"

    def _value(self, value: Any) -> str:
        if not isinstance(value, str):
            return literal(value) if isinstance(value, float | None) else str(int(value))
        _check_text(value)
        return self._translator.text(value)


def listed_categories(workspace: Workspace, attribute: str) -> list[tuple[str, int]]:
    """The categories of an attribute and their codes, in the order of these."""
    own = f"attribute = {literal(attribute)} AND value IS NOT NULL"
    found = workspace.read("categories", "value", "code", where=own, order=("code", "value"))
    return [(value, int(code)) for value, code in found]


def _check_text(value: str) -> None:
    if "\x00" in value:
        raise ExportError(
            f"the value {value!r} holds a NUL character, which no script can; use "
            f"{opt('format', 'json')}"
        )


def _tables_of(factors: Sequence[Factor]) -> list[str]:
    """Blocks of a collection may share a table."""
    return list(dict.fromkeys(factor.table for factor in factors))


def _numbers(count: int) -> str:
    return select_sql(f"range(1, {count + 1})", "range AS turn")


def _insert(table: str, columns: str, rows: Sequence[str]) -> str:
    return f"{render('script/insert', table=table, columns=columns, rows=rows)};\n"
