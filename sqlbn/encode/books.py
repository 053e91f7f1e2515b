"""Learns the codebooks of a source: categories and cut points, into the tables of a draft model."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlbn.draft import Draft
from sqlbn.encode.codebook import Codebook, comparable, intervals, is_inline
from sqlbn.encode.discretise import learn_cuts
from sqlbn.encode.profile import ColumnProfile, warn_left_out
from sqlbn.encode.types import type_group
from sqlbn.encode.weights import Weights
from sqlbn.engines import DuckDBEngine
from sqlbn.errors import ColumnError
from sqlbn.progress import Progress
from sqlbn.quoting import identifier, literal, literals
from sqlbn.sources import Source
from sqlbn.templates import render

MAX_CLASSES = 1000


def _categories_sql(source: Source, book: Codebook, weights: Weights | None) -> str:
    return render(
        "categories",
        value=comparable(book, identifier(book.name)),
        total=weights.total_sql if weights is not None else "count(*)",
        relation=source.relation,
        where=source.where_sql,
    )


def learn_classes(
    engine: DuckDBEngine, source: Source, target: str, weights: Weights | None
) -> tuple[Codebook, list[tuple[str, float]]]:
    """The codebook of the target, and its classes with their counts."""
    sql_type = source.columns[target]
    if type_group(sql_type) == "other":
        raise ColumnError(f"the target {target!r} has type {sql_type}; it must be text or a number")
    book = Codebook(target, sql_type, "categorical", 0)
    found = engine.rows(f"FROM ({_categories_sql(source, book, weights)}) LIMIT {MAX_CLASSES + 1}")
    if not found:
        also = " and a weight above 0" if weights is not None else ""
        raise ColumnError(f"no row of {source.label} has a value in the target {target!r}{also}")
    if len(found) > MAX_CLASSES:
        raise ColumnError(
            f"the target {target!r} has more than {MAX_CLASSES:,} different values; "
            "choose a column with classes, or group its values with --query"
        )
    classes = [(str(value), n) for _, value, n in found]
    names = tuple(value for value, _ in classes)
    return class_codebook(target, sql_type, names), classes


def class_codebook(target: str, sql_type: str, names: tuple[str, ...]) -> Codebook:
    """The codebook of a target; its classes are looked up in `classes` where they are many."""
    few = names if is_inline(len(names), sql_type) else None
    return Codebook(target, sql_type, "categorical", len(names), categories=few)


def learn_codebooks(
    engine: DuckDBEngine,
    source: Source,
    draft: Draft,
    profiles: Sequence[ColumnProfile],
    rows: int,
    bins: int,
    weights: Weights | None,
    keep: frozenset[str],
    progress: Progress,
) -> list[Codebook]:
    """Codebooks of the attributes in order; fills the draft's `categories` and `cuts`."""
    draft.create("categories", "attribute VARCHAR, code UINTEGER, value VARCHAR, n " + draft.n_type)
    categorical = [p for p in profiles if p.kind == "categorical"]
    for profile in categorical:
        book = Codebook(profile.name, profile.sql_type, "categorical", 0)
        engine.execute(
            f"INSERT INTO {draft.table('categories')} "
            f"SELECT {literal(profile.name)}, * FROM ({_categories_sql(source, book, weights)})"
        )
        progress.advance()
    numeric = [p for p in profiles if p.kind == "numeric"]
    cuts = learn_cuts(engine, source, rows, numeric, bins, weights)
    books = {b.name: b for b in _categorical_books(engine, draft, categorical)}
    for profile in numeric:
        books[profile.name] = _numeric_book(profile, rows, cuts[profile.name])
    flat = {n for n, b in books.items() if b.n_values < 2 and n not in keep}
    warn_left_out("constant once discretised", flat)
    chosen = [books[p.name] for p in profiles if p.name not in flat]
    _write_cuts(draft, [b for b in chosen if b.kind == "numeric"])
    return chosen


def _categorical_books(
    engine: DuckDBEngine, draft: Draft, profiles: Sequence[ColumnProfile]
) -> list[Codebook]:
    table = draft.table("categories")
    sizes = {
        name: (count, missing)
        for name, count, missing in engine.rows(
            "SELECT attribute, count(*), max(code) FILTER (WHERE value IS NULL) "
            f"FROM {table} GROUP BY attribute"
        )
    }
    types = {p.name: p.sql_type for p in profiles}
    inline = inline_categories(draft, [n for n in sizes if is_inline(sizes[n][0], types[n])])
    books = []
    for profile in profiles:
        count, missing = sizes[profile.name]
        values = inline.get(profile.name)
        books.append(
            Codebook(
                profile.name,
                profile.sql_type,
                "categorical",
                count,
                missing,
                categories=values,
            )
        )
    return books


def inline_categories(draft: Draft, names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The categories of some attributes in code order, missing left out."""
    found: dict[str, list[str]] = {name: [] for name in names}
    listed = literals(names) or "NULL"
    for name, value in draft.engine.rows(
        f"SELECT attribute, value FROM {draft.table('categories')} "
        f"WHERE value IS NOT NULL AND attribute IN ({listed}) ORDER BY attribute, code"
    ):
        found[name].append(value)
    return {name: tuple(values) for name, values in found.items()}


def _numeric_book(profile: ColumnProfile, rows: int, cuts: tuple[float, ...]) -> Codebook:
    n_intervals = len(cuts) + 1 if profile.present else 0
    missing = n_intervals if profile.present < rows else None
    n_values = n_intervals + (missing is not None)
    return Codebook(profile.name, profile.sql_type, "numeric", n_values, missing, cuts)


def _write_cuts(draft: Draft, books: Sequence[Codebook]) -> None:
    rows: list[tuple[object, ...]] = []
    for book in books:
        found = intervals(book) if book.missing != 0 else []
        rows += [(book.name, i, low, high, label) for i, (low, high, label) in enumerate(found)]
        if book.missing is not None:
            rows.append((book.name, book.missing, None, None, None))
    draft.fill(
        "cuts",
        "attribute VARCHAR, code UINTEGER, lower DOUBLE, upper DOUBLE, label VARCHAR",
        rows,
    )
