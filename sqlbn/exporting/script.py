"""A model as one SQL script: its tables, row by row, and the query that predicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlbn import __version__
from sqlbn.draft import Draft
from sqlbn.errors import ExportError, opt
from sqlbn.exporting.names import check_columns, probability_columns, table_prefix
from sqlbn.exporting.portable import INPUT, TURNS_TABLE, PortableDialect
from sqlbn.exporting.targets import Target
from sqlbn.exporting.translation import Translator
from sqlbn.quoting import identifier, literal, literals
from sqlbn.scoring.collected import START_TABLE
from sqlbn.scoring.factors import Factor
from sqlbn.scoring.query import Scorer, prediction_sql
from sqlbn.scoring.superparents import SUPER_TABLE, implied_table
from sqlbn.store.spec import ModelSpec

# Rows and characters of one INSERT: SQL Server takes 1,000 rows, BigQuery a megabyte.
_INSERT_ROWS = 1000
_INSERT_CHARACTERS = 1 << 18
_CATEGORIES = "predict_categories"


class Script:
    """Writes the script of one model for one target, in pieces."""

    def __init__(
        self,
        draft: Draft,
        spec: ModelSpec,
        target: Target,
        name: str,
        table: str,
        key: Sequence[str] = (),
        view: str | None = None,
    ) -> None:
        spec.require_class()
        self._draft, self._spec, self._target, self._view = draft, spec, target, view
        self._prefix = table_prefix(name)
        self._translator = Translator(target, table, self._table_name)
        self._scorer = self._make_scorer(tuple(key))

    def _make_scorer(self, key: tuple[str, ...]) -> Scorer:
        columns = {book.name: book.sql_type for book in self._spec.books}
        scorer = self._spec.scorer(None, columns, PortableDialect(self._target))
        carried = tuple(dict.fromkeys(key)) or tuple(self._spec.books[v].name for v in scorer.used)
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
        check_columns([self._spec.books[v].name for v in scorer.used], (), self._target)
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
            query = f"CREATE VIEW {self._translator.name(self._view)} AS\n{query}"
        yield f"\n{query};\n"

    def _head(self) -> str:
        spec = self._spec
        lines = [
            f"sqlbn {__version__}: {spec.meta['learner']} of {spec.target.name!r} "
            f"for {self._target.name}, {int(spec.meta['rows']):,} training rows.",
            "First the tables of the model, to be made once; then the prediction. Its input has",
            "these columns, with the types of training:",
            *(
                f"  {self._spec.books[v].name!r} {self._spec.books[v].sql_type}"
                for v in self._scorer.used
            ),
        ]
        return "".join(f"-- {line}\n" for line in lines)

    def _tables(self) -> Iterator[tuple[str, str]]:
        """The model's tables under the names that queries have for them, and queries for both."""
        spec, draft, scorer = self._spec, self._draft, self._scorer
        for factor in _tables_of(scorer.factors):
            yield factor, f"FROM {draft.table(factor)}"
        if spec.supers is not None:
            yield SUPER_TABLE, f"FROM {draft.table(SUPER_TABLE)}"
            for j, generals in enumerate(spec.supers.implied):
                if generals:
                    yield implied_table(j), f"FROM {draft.table(implied_table(j))}"
            yield TURNS_TABLE, _numbers(len(spec.supers.sets))
        elif spec.collected is not None and spec.collected.n_turns:
            yield START_TABLE, f"FROM {draft.table(START_TABLE)}"
            yield TURNS_TABLE, _numbers(spec.collected.n_turns)
        joined = [
            scorer.books[v].name
            for v in scorer.used
            if scorer.books[v].is_joined_in(scorer.dialect)
        ]
        if joined:
            yield (
                _CATEGORIES,
                f"SELECT attribute, code::BIGINT AS code, value FROM {draft.table('categories')} "
                f"WHERE attribute IN ({literals(joined)}) AND value IS NOT NULL "
                "ORDER BY attribute, code, value",
            )

    def _table(self, stored: str, rows: str) -> Iterator[str]:
        write, name = self._translator, self._translator.name(self._table_name(stored))
        columns = self._draft.engine.columns(f"({rows})")
        listed = ", ".join(f"{write.name(column)} {write.type(kind)}" for column, kind in columns)
        yield f"\nCREATE TABLE {name} ({listed}){self._target.table_end};\n"
        into = f"INSERT INTO {name} ({', '.join(write.name(column) for column, _ in columns)})"
        chunk: list[str] = []
        size = 0
        for values in self._values(rows):
            chunk.append(values)
            size += len(values)
            if len(chunk) == _INSERT_ROWS or size > _INSERT_CHARACTERS:
                yield _insert(into, chunk)
                chunk, size = [], 0
        if chunk:
            yield _insert(into, chunk)

    def _values(self, rows: str) -> Iterator[str]:
        with self._draft.engine.batches(rows) as reader:
            for batch in reader:
                columns = [map(self._value, column.to_pylist()) for column in batch.columns]
                for row in zip(*columns, strict=True):
                    yield f"({', '.join(row)})"

    def _value(self, value: Any) -> str:
        if not isinstance(value, str):
            return literal(value) if isinstance(value, float | None) else str(int(value))
        _check_text(value)
        return self._translator.text(value)


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
    return f"SELECT range AS turn FROM range(1, {count + 1})"


def _insert(into: str, rows: Sequence[str]) -> str:
    listed = ",\n".join(rows)
    return f"{into} VALUES\n{listed};\n"
