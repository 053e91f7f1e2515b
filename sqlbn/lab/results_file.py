"""The results of a bench: one DuckDB file; a cell (set, learner, fold) is written at once.

Whatever ends the program, the file holds whole cells: the measures and the predictions of one are
one transaction, and what is lacking is computed by the next run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.engines import Session, Settings
from sqlbn.engines.attached_file import AttachedFile
from sqlbn.engines.output_files import check_folder
from sqlbn.engines.sql import identifier, literal, literals, select_sql
from sqlbn.errors import OptionError, SqlbnError
from sqlbn.evaluation.metrics import MEASURES
from sqlbn.lab.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa

_CELL = (
    ("data_set", "VARCHAR"),
    ("learner", "VARCHAR"),
    ("repeat", "INTEGER"),
    ("fold", "INTEGER"),
)
_DOUBLE = "DOUBLE"
# Every table of a results file: columns with their types.
TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "plan": (("key", "VARCHAR"), ("value", "VARCHAR")),
    "runs": (
        *_CELL[:2],
        ("rows", "BIGINT"),
        ("attributes", "INTEGER"),
        ("classes", "INTEGER"),
        ("stratum", "VARCHAR"),
        ("status", "VARCHAR"),
        ("reason", "VARCHAR"),
    ),
    "folds": (
        *_CELL,
        ("train_rows", "BIGINT"),
        ("test_rows", "BIGINT"),
        *((measure, _DOUBLE) for measure in MEASURES),
        ("fit_seconds", _DOUBLE),
        ("predict_seconds", _DOUBLE),
        ("fit_peak_bytes", "BIGINT"),
    ),
    "predictions": (
        *_CELL,
        ("row", "BIGINT"),
        ("class", "VARCHAR"),
        ("predicted", "VARCHAR"),
        ("p_true", _DOUBLE),
    ),
    "comparisons": (
        ("measure", "VARCHAR"),
        ("stratum", "VARCHAR"),
        ("data_set", "VARCHAR"),
        ("one", "VARCHAR"),
        ("other", "VARCHAR"),
        ("draws_by", "VARCHAR"),
        ("wins", "INTEGER"),
        ("draws", "INTEGER"),
        ("losses", "INTEGER"),
        ("sign_p", _DOUBLE),
        ("wilcoxon_p", _DOUBLE),
        ("corrected_t_p", _DOUBLE),
    ),
    "ranks": (
        ("measure", "VARCHAR"),
        ("stratum", "VARCHAR"),
        ("learner", "VARCHAR"),
        ("sets", "INTEGER"),
        ("mean_value", _DOUBLE),
        ("mean_rank", _DOUBLE),
        ("holm_p", _DOUBLE),
        ("critical_difference", _DOUBLE),
        ("friedman_chi_squared", _DOUBLE),
        ("friedman_p", _DOUBLE),
        ("iman_davenport_f", _DOUBLE),
        ("iman_davenport_p", _DOUBLE),
    ),
    "decompositions": (
        *_CELL[:2],
        ("loss", "VARCHAR"),
        ("method", "VARCHAR"),
        ("error", _DOUBLE),
        ("bias", _DOUBLE),
        ("variance", _DOUBLE),
    ),
}
Cell = tuple[str, str, int, int]


@dataclass(frozen=True)
class Fold:
    """What one cell gave."""

    train_rows: int
    test_rows: int
    losses: Mapping[str, float]
    fit_seconds: float
    predict_seconds: float
    fit_peak_bytes: int | None


def stratum_of(rows: int) -> str:
    """The size of a data set, as paper 1 has it.

    >>> stratum_of(999), stratum_of(1000), stratum_of(10_000), stratum_of(10_001)
    ('small', 'medium', 'medium', 'large')
    """
    return "small" if rows < 1000 else "medium" if rows <= 10_000 else "large"


class Results:
    """A results file that a session has attached."""

    def __init__(self, session: Session, path: Path, write: bool) -> None:
        self.session, self.path = session, path
        is_new = not path.exists()
        if is_new and not write:
            raise OptionError("there is no such file of results", out=path)
        try:
            self.file = AttachedFile(session, path, write, is_new)
        except SqlbnError as error:
            raise OptionError(
                f"not a DuckDB file of results, or in use by another program ({error}); name "
                "another file",
                out=path,
            ) from error
        try:
            self._check(is_new)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give the file back."""
        self.file.detach()

    def name(self, table: str) -> str:
        """A table, quoted."""
        return self.file.name("main", table)

    def _check(self, is_new: bool) -> None:
        there = self.file.tables("main")
        if is_new or not there:
            with self.file.transaction():
                for table, columns in TABLES.items():
                    self._create(table, columns)
        elif not TABLES.keys() <= there.keys():
            raise OptionError("this DuckDB file holds no results of a bench", out=self.path)

    def _create(self, table: str, columns: Iterable[tuple[str, str]]) -> None:
        listed = ", ".join(f"{identifier(name)} {kind}" for name, kind in columns)
        self.file.create("main", table, listed)

    # -- the plan ------------------------------------------------------------------------------

    def take_plan(self, plan: Plan) -> None:
        """Note the plan; an error where the results are those of another one."""
        said = self.rows(select_sql(self.name("plan"), "value", where="key = 'plan'"))
        joined = plan.joined(json.loads(said[0][0]), self.path) if said else plan.said()
        with self.file.transaction():
            self._replace("plan", "key = 'plan'", [("plan", json.dumps(joined, default=list))])

    def _replace(self, table: str, where: str, rows: Sequence[Sequence[Any]]) -> None:
        self.file.delete("main", table, where)
        self.file.insert("main", table, [list(map(_known, row)) for row in rows])

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self.session.rows(sql)

    def arrow(self, table: str) -> pa.Table:
        """A whole table."""
        if table not in TABLES:
            raise OptionError(f"there is {', '.join(TABLES)}", table=table)
        return self.session.row_engine.arrow(select_sql(self.name(table)))

    # -- cells ---------------------------------------------------------------------------------

    def done(self) -> set[Cell]:
        """The cells that are there."""
        listed = ", ".join(name for name, _ in _CELL)
        return {(s, c, r, f) for s, c, r, f in self.rows(select_sql(self.name("folds"), listed))}

    def add(self, cell: Cell, fold: Fold, predictions: str | None) -> None:
        """The measures of a cell and, of a query for (row, class, predicted, p_true), its rows."""
        measures = [fold.losses.get(name, math.nan) for name in MEASURES]
        told = [fold.train_rows, fold.test_rows, *measures]
        seconds = [fold.fit_seconds, fold.predict_seconds, fold.fit_peak_bytes]
        with self.file.transaction():
            self.file.insert("main", "folds", [list(map(_known, [*cell, *told, *seconds]))])
            if predictions is not None:
                rows = select_sql(f"({predictions})", f"{literals(cell)}, *")
                self.file.insert_query("main", "predictions", rows)

    def say(self, data_set: str, learner: str, told: Sequence[Any]) -> None:
        """What became of a learner on a set: rows, attributes, classes, stratum, status, reason."""
        where = f"data_set = {literal(data_set)} AND learner = {literal(learner)}"
        with self.file.transaction():
            self._replace("runs", where, [[data_set, learner, *told]])

    def replace_all(self, tables: Mapping[str, Sequence[Sequence[Any]]]) -> None:
        """New rows of tables that are made of the others."""
        with self.file.transaction():
            for table, rows in tables.items():
                self._replace(table, "true", rows)

    def fill(self, table: str, query: str) -> None:
        """The rows of a query in place of those that a table has."""
        with self.file.transaction():
            self.file.delete("main", table, "true")
            self.file.insert_query("main", table, query)


def _known(value: Any) -> Any:
    """A number for a statement; NULL for NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


@contextmanager
def opened(path: Path, write: bool) -> Iterator[Results]:
    """A results file by a session of its own."""
    if write:
        check_folder(path, "out")
    with Session(Settings()) as session:
        results = Results(session, path, write)
        try:
            yield results
        finally:
            results.close()
