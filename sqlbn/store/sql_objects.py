"""What SQL users see of a stored model: the views of its probabilities and the macro `predict`.

A table macro is bound where it is called: names in it are looked up on the caller's search path,
not in the macro's own catalog (views are; DuckDB 1.1 and 2.0). So `predict` builds its query as
text when it is bound, and finds out by which name its store was attached: of a table that the
engine does not see it tells where one of that name is. The name is made anew whenever a model is
written, so whatever has it is that model.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Sequence

from sqlbn.data.csv_types import types_sql
from sqlbn.data.relation import ROW
from sqlbn.data.value_types import type_group
from sqlbn.encoding.codebook import BookTables, is_never_boolean
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.sql import identifier, literal, qualified
from sqlbn.errors import SqlbnWarning
from sqlbn.kinds.compiler import Scorer, prediction_sql
from sqlbn.store.spec import ModelSpec

# What the schema of a model's own tables is called besides: those that only programs read.
HELPERS = "__tables"
_HELPERS = {"factors", "turns", "margins", "margin_families"}
_CATEGORIES, _CLASSES = "predict_categories", "predict_classes"
_MARKER = "predict_marker_"
_CSV = r"\.(csv|tsv|txt)(\.gz|\.zst)?''?\]?$"
_PARQUET = r"\.(parquet|parq|pq)''?\]?$"


def helper_schema(name: str) -> str:
    """The schema beside that of a model."""
    return f"{name}{HELPERS}"


def schema_of(name: str, table: str) -> str:
    """The schema in which a model's table is stored."""
    return helper_schema(name) if is_helper(table) else name


def is_helper(table: str) -> bool:
    """Whether a model's table is one that only programs read."""
    return table in _HELPERS or table.startswith("predict_")


def is_derived(table: str) -> bool:
    """Whether a stored table is made from others when a model is written."""
    return table in (_CATEGORIES, _CLASSES) or table.startswith(_MARKER)


def book_tables(prefix: str) -> BookTables:
    """Where a query finds the categories that it joins, beside its other helper tables."""
    return BookTables(f"{prefix}.{_CATEGORIES}", f"{prefix}.{_CLASSES}")


def write_face(session: Session, catalog: str, name: str, spec: ModelSpec) -> None:
    """The views and the macro of a model whose tables are written."""
    model = qualified(catalog, name)
    try:
        # Without a schema: a file that is opened directly may be called like the model in it.
        session.execute(f"USE {model}")
        for position in spec.selected:
            view = f"{model}.{identifier(f'cpt_{spec.books[position].name}')}"
            session.execute(f"CREATE VIEW {view} AS {spec.cpt_sql(position, None)}")
    finally:
        session.execute("USE memory")
    if spec.has_class:
        _write_predict(session, catalog, name, spec)


def _write_predict(session: Session, catalog: str, name: str, spec: ModelSpec) -> None:
    helpers, model = qualified(catalog, helper_schema(name)), qualified(catalog, name)
    mark = uuid.uuid4().hex
    prefix = f"__sqlbn_{mark}_tables"
    scorer = spec.scorer(prefix, tables=book_tables(prefix))
    if any(scorer.books[v].is_joined for v in scorer.used):
        items = "SELECT attribute, code, value"
        session.execute(f"CREATE TABLE {helpers}.{_CATEGORIES} AS {items} FROM {model}.categories")
    if scorer.target.is_joined:
        items = f"{literal(spec.target.name)} AS attribute, code, class AS value"
        session.execute(f"CREATE TABLE {helpers}.{_CLASSES} AS SELECT {items} FROM {model}.classes")
    session.execute(f"CREATE TABLE {helpers}.{_MARKER}{mark} (nothing BOOLEAN)")
    refused = too_large_for_sql(spec, name, session.limits)
    if refused:
        warnings.warn(f"no macro `predict`: {refused}", SqlbnWarning, stacklevel=2)
    query = (
        _refusal(refused) if refused else predict_text(scorer, name, mark, prefix, session.limits)
    )
    session.execute(f"CREATE MACRO {model}.predict(tbl) AS TABLE FROM query({query})")


def too_large_for_sql(spec: ModelSpec, name: str, limits: Limits) -> str | None:
    """What is told of a model whose one query would be planned for minutes; else None."""
    if not spec.has_class:
        return None
    scorer = spec.scorer(None)
    joins, n = len(scorer.factors), len(scorer.class_names)
    small = joins <= limits.macro_joins and joins * n <= limits.macro_lookups
    if small or not scorer.is_product:
        return None
    return (
        f"the model {name!r} is too large for one query ({len(scorer.used):,} columns, {n:,} "
        "classes): score with `sqlbn predict`, which takes several"
    )


def _refusal(text: str) -> str:
    """An error when the macro is used; without its `tbl` it would be one when it is made."""
    return f"error({literal(text)} || left(CAST(tbl AS VARCHAR), 0))"


def predict_text(scorer: Scorer, name: str, mark: str, prefix: str, limits: Limits) -> str:
    """The expression, over the macro's `tbl`, for the text of a prediction query."""
    books = [scorer.books[v] for v in scorer.used]
    columns = [book.name for book in books]
    rows = f"__sqlbn_{mark}_rows"
    words = [book.name for book in books if is_never_boolean(book)]
    sql = prediction_sql(scorer, _numbered(rows, name, columns, words), limits)
    sql = f"SELECT * EXCLUDE ({ROW}) FROM ({sql}) ORDER BY {ROW}"
    types = {b.name: _csv_type(b.sql_type, b.kind == "numeric") for b in books}
    forced = types_sql({column: type_ for column, type_ in types.items() if type_ is not None})
    filled = f"replace({literal(sql)}, {literal(prefix)}, {_found_schema(name, mark)})"
    filled = f"replace({filled}, {literal(rows)}, {_rows(forced)})"
    listed = ", ".join(map(identifier, columns)) or "1"
    looked = f"json_serialize_plan({literal(f'SELECT {listed} FROM ')} || {_rows('')})"
    told = literal(f"the model {name!r} needs the column ")
    lacks = (
        f"error({told} || '''' || json_extract_string({looked}, '$.name') || '''' || ', which ' || "
        "CAST(tbl AS VARCHAR) || ' does not have')"
    )
    subtype = f"json_extract_string({looked}, '$.error_subtype')"
    return f"CASE WHEN {subtype} = 'COLUMN_NOT_FOUND' THEN {lacks} ELSE {filled} END"


def _numbered(rows: str, name: str, columns: Sequence[str], words: Sequence[str]) -> str:
    """The rows with their number; what they lack is told by an alias that names the model.

    `words` are columns of text in which true and false, the engine's yes and no, are unknown.
    """
    alias = identifier(f"rows for the model {name}")
    # Of a CTE only the query itself can be asked for columns.
    needed = " OR ".join(["true", *(f"{alias}.{identifier(c)} IS NULL" for c in columns)])
    told = f"the model {name!r} had text in this column, which is BOOLEAN here: "
    checks = [
        f"CASE typeof({alias}.{identifier(c)}) WHEN 'BOOLEAN' "
        f"THEN error({literal(told + c)})::BOOLEAN ELSE true END"
        for c in words
    ]
    where = " AND ".join([f"({needed})", *checks])
    return f"(SELECT *, row_number() OVER () AS {ROW} FROM (FROM {rows}) AS {alias} WHERE {where})"


def _csv_type(sql_type: str, quantity: bool) -> str | None:
    """The type to read a CSV column with; None where the engine may choose."""
    group = type_group(sql_type)
    if group == "text":
        return "VARCHAR"
    if not quantity:
        return None
    return {"integer": "BIGINT", "float": "DOUBLE", "decimal": "DOUBLE"}.get(group, sql_type)


def _found_schema(name: str, mark: str) -> str:
    """An expression for the schema of the helper tables, as its store is attached here."""
    table = f"{_MARKER}{mark}"
    looked = f"json_serialize_plan({literal(f'FROM {table}')})"
    before = f"split_part(json_extract_string({looked}, '$.candidates'), {literal(f'.{table}')}, 1)"
    schema = helper_schema(name)
    # 'm.bank__tables', or without the catalog where it is the one in USE.
    elsewhere = f"ends_with({before}, {literal(f'.{schema}')})"
    catalog = f"CASE WHEN {elsewhere} THEN left({before}, {-len(schema) - 1}) END"
    quoted = f"'\"' || replace({catalog}, '\"', '\"\"') || '\".'"
    return f"coalesce({quoted}, '') || {literal(identifier(schema))}"


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
