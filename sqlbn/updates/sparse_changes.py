"""Update, forget and merge of models of long input: counts by feature, value and class add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlbn.data.long_rows import LongRows
from sqlbn.encoding.preparing import write_classes
from sqlbn.engines.progress import Progress
from sqlbn.engines.sql import render, select_sql
from sqlbn.engines.value_types import compared_as, type_group
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import ColumnError, OptionError, SourceError, StoreError, opt
from sqlbn.kinds.sparse.cell_rules import CellRules
from sqlbn.kinds.sparse.sparse_query import SparseScoring
from sqlbn.sparse.sparse_cells import NAMES_OF_FEATURES, counted_cells
from sqlbn.sparse.sparse_fit import derive, files_of
from sqlbn.sparse.sparse_source import open_long_like
from sqlbn.store.history import (
    Action,
    Step,
    check_not_counted,
    check_not_forgotten,
    moment,
)
from sqlbn.updates.changes import Changed, Rebuilt, check_files_apart, run_change, step_of_nothing
from sqlbn.updates.stored_model import StoredModel


@dataclass(frozen=True)
class CountsPart:
    """Counts in a workspace, to be added (`sign` 1) or taken out; `names` has the features."""

    workspace: Workspace
    names: str
    sign: int

    @property
    def counts_sql(self) -> str:
        """The counts by names."""
        table = self.workspace.table
        return render(
            "sparse/named_counts",
            sign=self.sign,
            counts=table("feature_counts"),
            features=table(self.names),
            classes=table("classes"),
            values=table("feature_values"),
        )

    @property
    def values_sql(self) -> str:
        """The values by names."""
        table = self.workspace.table
        values, features = table("feature_values"), table(self.names)
        return render("sparse/model_values", values=values, features=features)


def change_long_rows(
    model: StoredModel,
    action: Action,
    data: Any,
    *,
    again: bool = False,
    refit_weights: bool = False,
    labels: Any = None,
    progress: Progress | None = None,
    **rows: Any,
) -> Changed:
    """Add rows to a model of long input or take them out."""
    if refit_weights:
        raise OptionError(f"{opt('refit_weights', True)}: the model has no weights to fit")
    _check_counts_tell(model)
    where = rows.pop("where", None)
    where = where if where is not None else model.spec.meta["where"] or None
    session, scoring = model.workspace.session, model.spec.scoring
    assert isinstance(scoring, SparseScoring)
    given = open_long_like(session, model.spec, data, labels, where=where, **rows)
    _check_rows(given, scoring.rules, model)
    files = files_of(given, where, rows.get("table"), rows.get("query"))
    if not again:
        (check_not_counted if action == "update" else check_not_forgotten)(model.steps, files)
    sign = 1 if action == "update" else -1
    old, told = CountsPart(model.workspace, "features", 1), progress or Progress()

    def change(new: Workspace, of_rows: Workspace) -> tuple[Step, Rebuilt]:
        with counted_cells(
            of_rows, given, scoring.rules, model.options, told, old.values_sql
        ) as counted:
            n, skipped, ignored = counted.rows.rows, counted.rows.skipped, counted.ignored
        total = model.rows + sign * n
        if total <= 0:
            raise SourceError(
                f"{given.label} has {n:,} rows and the model {model.rows:,}: none would be left; "
                "to remove the model: sqlbn drop"
            )
        _add_up(new, [old, CountsPart(of_rows, NAMES_OF_FEATURES, sign)], model, told)
        step = Step(action, moment(), given.label, n, skipped, total, "", files)
        before = int(model.spec.meta.get("cells_ignored", 0))
        return step, Rebuilt(meta={"cells_ignored": max(before + sign * ignored, 0)})

    empty = step_of_nothing(action, model, given.cells, files)
    return run_change(model, change, told, empty=empty)


def merge_long(model: StoredModel, other: StoredModel, again: bool, progress: Progress) -> Changed:
    """The model of the rows of two models of long input, from their counts alone."""
    for each in (model, other):
        _check_counts_tell(each)
    one, two = model.spec.scoring, other.spec.scoring
    if not (isinstance(one, SparseScoring) and isinstance(two, SparseScoring)):
        raise StoreError(f"one is of long input ({opt('long')}), the other of columns")
    for what, here, there in (
        ("cells", one.rules.document, two.rules.document),
        ("learner", model.spec.meta["learner"], other.spec.meta["learner"]),
        ("options", model.spec.meta["options"], other.spec.meta["options"]),
        ("target", model.spec.target.name, other.spec.target.name),
    ):
        if here != there:
            raise StoreError(f"the models differ in their {what}: {here} and {there}")
    check_files_apart(model, other, again)
    parts = [CountsPart(m.workspace, "features", 1) for m in (model, other)]
    sql = render("sparse/other_cuts", one=parts[0].values_sql, other=parts[1].values_sql)
    cut = model.workspace.session.row(sql)[0]
    if cut is not None:
        raise StoreError(
            f"the models cut the numbers of {cut!r} into different parts: update one with the "
            "cells of the other"
        )

    def change(new: Workspace, of_rows: Workspace) -> tuple[Step, Rebuilt]:
        _add_up(new, parts, model, progress)
        meta = other.spec.meta
        step = Step(
            "merge",
            moment(),
            meta.get("name", "another model"),
            other.rows,
            int(meta["rows_skipped"]),
            model.rows + other.rows,
        )
        ignored = sum(int(m.spec.meta.get("cells_ignored", 0)) for m in (model, other))
        return step, Rebuilt(meta={"cells_ignored": ignored})

    return run_change(model, change, progress, other)


def _check_counts_tell(model: StoredModel) -> None:
    """An error where a model is made of more than the counts that it stores."""
    scoring, learner = model.spec.scoring, model.spec.meta["learner"]
    if isinstance(scoring, SparseScoring) and learner != "nb":
        raise StoreError(
            f"a model of long input by {learner} cannot be changed: its counts of single features, "
            "which are stored, do not tell it; fit all rows again"
        )


def _check_rows(rows: LongRows, rules: CellRules, model: StoredModel) -> None:
    """An error where these cells or classes cannot be added to those of a model."""
    rules.check(rows.cells, rows.names)
    if rules.whole_values and rows.names.value is not None:
        found = rows.cells.columns[rows.names.value]
        if type_group(found) != "integer":
            raise ColumnError(
                f"the values {rows.names.value!r} of {rows.cells.label} are {found[:60]} and were "
                f"whole numbers when the model was learned; cast them with {opt('query')}"
            )
    classes = rows.classes
    ours, theirs = model.spec.target.sql_type, classes.columns[rows.target]
    if compared_as(ours) != compared_as(theirs):
        raise ColumnError(
            f"the classes {rows.target!r} of {classes.label} are {theirs[:60]} but were {ours} "
            f"when the model was learned; cast them with {opt('query')}"
        )


def _add_up(
    new: Workspace, parts: Sequence[CountsPart], model: StoredModel, progress: Progress
) -> None:
    """All tables of the model whose counts are those of the parts."""
    session = new.session
    counts = _write_class_sums(new, parts, model.spec.target.sql_type)
    summed = session.fresh_name("summed")
    statements = [part.counts_sql for part in parts]
    session.create_from(summed, render("sparse/summed_counts", parts=statements))
    try:
        below = session.rows(select_sql(summed, "feature", where="n < 0", order="ALL", limit=1))
        if below:
            _refuse_rows(f"cells of {below[0][0]!r}")
        found = select_sql(summed, "feature AS f")
        new.copy(NAMES_OF_FEATURES, f"({render('sparse/feature_names', cells=found)})")
        _write_parts(new, parts, summed, model)
    finally:
        session.drop_table(summed)
    derive(new, counts, model.options, progress)


def _write_class_sums(new: Workspace, parts: Sequence[CountsPart], target_type: str) -> list[float]:
    listed = [{"sign": part.sign, "classes": part.workspace.table("classes")} for part in parts]
    sql = render("sparse/summed_classes", parts=listed, type=compared_as(target_type))
    classes = [(str(name), int(n)) for name, n in new.session.rows(sql)]
    for name, n in classes:
        if n < 0:
            _refuse_rows(f"rows of class {name!r}")
    write_classes(new, classes)
    return [float(n) for _, n in classes]


def _refuse_rows(what: str) -> NoReturn:
    raise SourceError(f"these rows were not all in the model: it has fewer {what}; nothing changed")


def _write_parts(
    new: Workspace, parts: Sequence[CountsPart], summed: str, model: StoredModel
) -> None:
    """The workspace's `feature_values` and `feature_counts`."""
    scoring, names = model.spec.scoring, new.table(NAMES_OF_FEATURES)
    assert isinstance(scoring, SparseScoring)
    has_values = scoring.rules.mode != "presence"
    new.create("feature_values")
    new.create("feature_counts")
    if has_values:
        whole = "TRY_CAST(found.value AS HUGEINT), " if scoring.rules.mode == "number" else ""
        known = " UNION ".join(part.values_sql for part in parts)
        sql = render(
            "sparse/joined_values",
            names=names,
            known=known,
            summed=summed,
            order=f"found.upper, {whole}found.value",
        )
        new.insert_from("feature_values", sql)
    sql = render(
        "sparse/joined_counts",
        summed=summed,
        names=names,
        classes=new.table("classes"),
        values=new.table("feature_values"),
        has_values=has_values,
    )
    new.insert_from("feature_counts", sql)
