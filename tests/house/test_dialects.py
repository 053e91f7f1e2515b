"""A statement for Spark means what it means for DuckDB, whatever stands in names and texts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlbn.engines.dialects import DUCKDB, SPARK, tokens
from sqlbn.engines.sql import identifier, literal, qualified

# What has a meaning for one of the two, or is none of ASCII.
SIGNS = st.text(st.sampled_from("ab \n'\"`\\/-*;.,:()[]{}$?é√😀")) | st.text(
    st.characters(exclude_characters="\x00", exclude_categories=("Cs",))
)
WORDS = st.sampled_from(["UTINYINT", "// 2", "-- no comment", "/* x */", "sqlbn_loo_7", "''"])


def nothing(parts: Sequence[str]) -> str | None:
    return None


@settings(max_examples=200, deadline=None)
@given(SIGNS | WORDS, SIGNS | WORDS, SIGNS | WORDS)
def test_names_and_texts_are_never_taken_for_anything_else(one: str, two: str, text: str) -> None:
    one, two = one or "a", two or "b"
    ours = (
        f"SELECT t.{identifier(one)}//2 AS {identifier(two)}, {literal(text)}::VARCHAR FROM t WHERE"
        f" {identifier(one)} = {literal(text)} AND {identifier(two)}::UINTEGER < 3"
    )
    first, second, quoted = SPARK.identifier(one), SPARK.identifier(two), SPARK.text(text)
    assert SPARK.statement(ours, nothing) == (
        f"SELECT t.{first} div 2 AS {second}, {quoted}::STRING FROM t WHERE"
        f" {first} = {quoted} AND {second}::BIGINT < 3"
    )
    assert DUCKDB.statement(ours, nothing) == ours
    assert "".join(token.text + token.space for token in tokens(ours)) == ours


def test_tables_of_the_model_have_another_name() -> None:
    asked: list[list[str]] = []

    def table(parts: Sequence[str]) -> str | None:
        asked.append(list(parts))
        known = (["sqlbn_loo_7"], ["memory", "sqlbn_model_3", "a.b"])
        return f"`{parts[-1]}`" if list(parts) in known else None

    name = qualified("memory", "sqlbn_model_3", "a.b")
    ours = f'SELECT sqlbn_loo_7.key, "sqlbn_loo_7" FROM {name} AS f JOIN sqlbn_loo_7 ON f."k" = 1'
    assert SPARK.statement(ours, table) == (
        "SELECT `sqlbn_loo_7`.key, `sqlbn_loo_7` FROM `a.b` AS f JOIN `sqlbn_loo_7` ON f.`k` = 1"
    )
    assert ["sqlbn_loo_7"] in asked


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("CAST(x AS TIMESTAMP WITH TIME ZONE)", "CAST(x AS TIMESTAMP)"),
        ("CAST(x AS TIMESTAMP)", "CAST(x AS TIMESTAMP)"),
        ("TIMESTAMP '1970-01-01'", "TIMESTAMP '1970-01-01'"),
        ("x::TIMESTAMP_NS, y::HUGEINT", "x::TIMESTAMP, y::DECIMAL(38,0)"),
        ("(a)//-2", "(a) div -2"),
        ("'it''s' || chr(0) || 'a\\b'", "'it\\'s' || chr(0) || 'a\\\\b'"),
    ],
)
def test_types_and_division(ours: str, theirs: str) -> None:
    assert SPARK.statement(f"SELECT {ours}", nothing) == f"SELECT {theirs}"
