"""What SQL users see of a stored model: views of its probabilities, the macro `predict`, comments.

A table macro is bound where it is called: names in it are looked up on the caller's search path,
not in the macro's own catalog (views are; DuckDB 1.1 and 2.0). So `predict` builds its query as
text when it is bound, and finds out by which name its store was attached: of a table that the
engine does not see it tells where one of that name is. The name is made anew whenever a model is
written, so whatever has it is that model.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlbn.data.csv_files import types_sql
from sqlbn.encoding.codebook import BookTables, by_column, is_never_boolean
from sqlbn.engines.attached_file import AttachedFile
from sqlbn.engines.limits import Limits
from sqlbn.engines.relations import ROW
from sqlbn.engines.sql import identifier, literal, relation_sql, render
from sqlbn.engines.value_types import type_group
from sqlbn.errors import SqlbnWarning
from sqlbn.kinds.compiler import Scorer, prediction_sql
from sqlbn.kinds.forms import quickest
from sqlbn.kinds.kind import Readable
from sqlbn.kinds.product.long_form import form_costs, joins_left, long_table_sql
from sqlbn.kinds.sparse.sparse_query import SparseScoring, sparse_predictions, sparse_scores
from sqlbn.schema import PREDICT, PREDICTING, TABLES, Table, columns_sql, declared
from sqlbn.store.spec import ModelSpec, cpt_columns

# What the schema of a model's own tables is called besides: those that only programs read.
HELPERS = "__tables"
_HELPERS = {table.name for table in TABLES if table.helper}
_CATEGORIES, _CLASSES, _LONG = "predict_categories", "predict_classes", "predict_long"
_MARKER = "predict_marker_"
_CSV = r"\.(csv|tsv|txt)(\.gz|\.zst)?''?\]?$"
_PARQUET = r"\.(parquet|parq|pq)''?\]?$"

# Of every table (or view) that is stored, its columns.
Columns = Mapping[str, Sequence[str]]


def helper_schema(name: str) -> str:
    """The schema beside that of a model."""
    return f"{name}{HELPERS}"


def schema_of(name: str, table: str) -> str:
    """The schema in which a model's table is stored."""
    return helper_schema(name) if is_helper(table) else name


def is_helper(table: str) -> bool:
    """Whether a model's table is one that only programs read."""
    return table in _HELPERS or table.startswith(PREDICTING)


def is_derived(table: str) -> bool:
    """Whether a stored table is made from others when a model is written."""
    found = declared(table)
    return found is not None and found.derived


def book_tables(prefix: str) -> BookTables:
    """Where a query finds the categories that it joins, beside its other helper tables."""
    return BookTables(f"{prefix}.{_CATEGORIES}", f"{prefix}.{_CLASSES}")


def write_face(file: AttachedFile, name: str, spec: ModelSpec, columns: Columns) -> None:
    """The views and the macro of a model whose tables are written, and the comments of all."""
    views = {f"cpt_{table}": found for table, found in spec.readable.items()}
    # Without a schema: a file that is opened directly may be called like the model in it.
    with file.used(name):
        for view, table in views.items():
            file.create_view(name, view, spec.cpt_sql(table, None))
    derived = _write_predict(file, name, spec) if spec.has_class else {}
    described: Columns = {
        **{view: _view_columns(spec, table) for view, table in views.items()},
        **columns,
        **derived,
    }
    _write_comments(file, name, described, spec.has_class)


def _view_columns(spec: ModelSpec, table: Readable) -> list[str]:
    given = ["class"] if spec.has_class else []
    return [*cpt_columns([spec.books[v].name for v in table.family]), *given, "n", "probability"]


def _declared_columns(table: str) -> list[str]:
    found = declared(table)
    return [column.name for column in found.columns] if found is not None else []


def _write_predict(file: AttachedFile, name: str, spec: ModelSpec) -> Columns:
    """The macro, and the tables that only it needs: their names and columns."""
    helpers = helper_schema(name)
    mark = uuid.uuid4().hex
    prefix = f"__sqlbn_{mark}_tables"
    scorer = spec.scorer(prefix, tables=book_tables(prefix))
    made = []
    if any(scorer.books[v].is_joined for v in scorer.used):
        items = render("store/predict_categories", categories=file.name(name, "categories"))
        file.copy(helpers, _CATEGORIES, f"({items})")
        made.append(_CATEGORIES)
    if scorer.target.is_joined:
        classes, target = file.name(name, "classes"), spec.target.name
        items = render("store/predict_classes", classes=classes, target=target)
        file.copy(helpers, _CLASSES, f"({items})")
        made.append(_CLASSES)
    marker = f"{_MARKER}{mark}"
    made.append(marker)
    file.create(helpers, marker, columns_sql(marker, "", {}))
    limits, columns = file.session.limits, {table: _declared_columns(table) for table in made}
    if spec.is_long:
        file.session.execute(_long_macro(file.name(name, "predict"), spec, scorer, name, mark))
        return columns
    refused = too_large_for_sql(spec, name, limits)
    if refused:
        warnings.warn(f"no macro `predict`: {refused}", SqlbnWarning, stacklevel=2)
        file.session.run("store/refusing_macro", macro=file.name(name, "predict"), refused=refused)
        return columns
    if _is_long(scorer, limits):
        factors = replace(scorer, prefix=file.name(helpers))
        first, *more = long_table_sql(factors, limits)
        file.copy(helpers, _LONG, f"({first})")
        for query in more:
            file.insert_from(helpers, _LONG, query)
        scorer = replace(scorer, long=relation_sql(prefix, _LONG))
        columns[_LONG] = ["key", "member", *(f"l_{j}" for j in range(len(spec.class_names)))]
    file.session.execute(_macro(file.name(name, "predict"), scorer, name, mark, limits))
    return columns


# -- comments ----------------------------------------------------------------------------------


class _Comment(NamedTuple):
    kind: str
    name: str
    text: str


def _write_comments(file: AttachedFile, name: str, columns: Columns, has_predict: bool) -> None:
    """What `schema` says of all tables and columns, in one batch of statements.

    Columns of views and lookup tables may be very many: only some are commented then.
    """
    known = {table: t for table in columns if (t := declared(table)) is not None}
    place = {table: file.name(schema_of(name, table), table) for table in known}
    found = [_Comment("MACRO TABLE", file.name(name, "predict"), PREDICT)] if has_predict else []
    found += [_Comment(t.form.upper(), place[table], t.comment) for table, t in known.items()]
    few, many = list[_Comment](), list[_Comment]()
    for table, t in known.items():
        several = t.name != table or any(c.repeats for c in t.columns)
        (many if several else few).extend(_of_columns(t, place[table], columns[table]))
    found += [*few, *many[: file.session.limits.stored_comments]]
    file.session.execute(";\n".join(render("store/comment", **c._asdict()) for c in found))


def _of_columns(table: Table, place: str, names: Sequence[str]) -> Iterator[_Comment]:
    for name in names:
        column = table.column(name)
        if column is not None:
            yield _Comment("COLUMN", f"{place}.{identifier(name)}", column.comment)


# -- the macro ---------------------------------------------------------------------------------


def too_large_for_sql(spec: ModelSpec, name: str, limits: Limits) -> str | None:
    """What is told of a model whose one query would be planned for minutes; else None."""
    if not spec.has_class:
        return None
    scorer = spec.scorer(None)
    joins, n = joins_left(scorer, _is_long(scorer, limits)), len(scorer.class_names)
    small = joins <= limits.macro_joins and joins * n <= limits.macro_lookups
    if small or not scorer.scoring.joins_factors:
        return None
    return (
        f"the model {name!r} is too large for one query ({joins:,} tables to look up, "
        f"{n:,} classes): score with `sqlbn predict`, which takes several"
    )


def _is_long(scorer: Scorer, limits: Limits) -> bool:
    """Whether the macro looks keys up in one table of all factors."""
    columns = len({scorer.books[v].column for v in scorer.used})
    return quickest(form_costs(scorer, columns, limits), limits.macro_rows) == "long"


def _macro(macro: str, scorer: Scorer, name: str, mark: str, limits: Limits) -> str:
    """The statement that makes `predict` of a scorer whose tables have the prefix of a mark."""
    books = [scorer.books[v] for v in scorer.used]
    columns = list(dict.fromkeys(book.column for book in books))
    texts = [book.column for book in books if is_never_boolean(book)]
    rows = f"__sqlbn_{mark}_rows"
    scored = prediction_sql(scorer, _numbered(rows, name, columns, texts), limits)
    held = {name: book for name, book in by_column(scorer.books).items() if name in columns}
    types = {name: _csv_type(b.sql_type, b.kind == "numeric") for name, b in held.items()}
    forced = types_sql({column: type_ for column, type_ in types.items() if type_ is not None})
    return render(
        "store/predict_macro",
        macro=macro,
        columns=", ".join(map(identifier, columns)) or "1",
        needs=f"the model {name!r} needs the column ",
        query=render("store/predict_query", row=ROW, scored=scored),
        prefix=scorer.prefix,
        marker=f"{_MARKER}{mark}",
        schema=helper_schema(name),
        named_rows=rows,
        plain_rows=_rows(""),
        rows=_rows(forced),
    )


def _long_macro(macro: str, spec: ModelSpec, scorer: Scorer, name: str, mark: str) -> str:
    """The same for a model of long input: it takes a table of cells."""
    scoring, rows = spec.scoring, f"__sqlbn_{mark}_rows"
    assert isinstance(scoring, SparseScoring)
    names = scoring.rules.names
    relation = _numbered(rows, name, names.listed, [])
    cells = scoring.rules.cells_sql(relation, keeps_rows=True)
    scored = sparse_scores(scoring, scorer.prefix, cells, told=False)
    return render(
        "store/predict_macro",
        macro=macro,
        columns=", ".join(map(identifier, names.listed)),
        needs=f"the model {name!r} needs the column ",
        query=sparse_predictions(scorer, scored, names.row),
        prefix=scorer.prefix,
        marker=f"{_MARKER}{mark}",
        schema=helper_schema(name),
        named_rows=rows,
        plain_rows=_rows(""),
        rows=_rows(""),
    )


def _numbered(rows: str, name: str, columns: Sequence[str], texts: Sequence[str]) -> str:
    """The rows with their number; `texts` are columns in which true and false are unknown."""
    return render(
        "store/predict_rows",
        row=ROW,
        rows=rows,
        alias=f"rows for the model {name}",
        columns=columns,
        texts=texts,
        boolean=f"the model {name!r} had text in this column, which is BOOLEAN here: ",
    )


def _csv_type(sql_type: str, quantity: bool) -> str | None:
    """The type to read a CSV column with; None where the engine may choose."""
    group = type_group(sql_type)
    if group == "text":
        return "VARCHAR"
    if not quantity:
        return None
    return {"integer": "BIGINT", "float": "DOUBLE", "decimal": "DOUBLE"}.get(group, sql_type)


def _rows(csv_options: str) -> str:
    """An expression for the relation that `tbl` names: files, by their endings, or a table."""
    text = "CAST(tbl AS VARCHAR)"
    quoted = f"'''' || replace({text}, '''', '''''') || ''''"
    listed = f"{text} LIKE '[%]'"
    given = f"CASE WHEN {listed} THEN 'CAST(' || {quoted} || ' AS VARCHAR[])' ELSE {quoted} END"
    options = literal(f", union_by_name = true{csv_options})")
    ending = f"regexp_matches(lower({text}), "
    return (
        f"CASE WHEN {ending}'{_CSV}') THEN 'read_csv(' || {given} || {options} "
        f"WHEN {ending}'{_PARQUET}') THEN 'read_parquet(' || {given} || ')' "
        f"WHEN contains({text}, '/') AND NOT {listed} AND NOT {text} LIKE '\"%' "
        f"THEN '\"' || replace({text}, '\"', '\"\"') || '\"' "
        f"ELSE 'query_table(' || {given} || ')' END"
    )
