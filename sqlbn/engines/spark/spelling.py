"""Our statements in Spark's spelling: quotes, types, and the names of tables that are lent.

What differs in more than its spelling is the business of `sqlbn.dialects`. Statements hold no text
of a user's own but through `sqlbn.quoting`, so every token is one of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# Codes and keys are unsigned in DuckDB; Spark has no unsigned types, so they are one wider.
_TYPES = {
    "UTINYINT": "SMALLINT",
    "USMALLINT": "INTEGER",
    "UINTEGER": "BIGINT",
    "UBIGINT": "BIGINT",
    "HUGEINT": "DECIMAL(38,0)",
    "UHUGEINT": "DECIMAL(38,0)",
    "VARCHAR": "STRING",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP",
}
_NAME = r'"(?:[^"]|"")*"'
_TOKEN = re.compile(
    rf"""(?P<text>'(?:[^']|'')*')
    |(?P<table>"memory"\."(?P<schema>sqlbn_model_\d+)"\.(?P<name>{_NAME}))
    |(?P<quoted>{_NAME})
    |(?P<fresh>\bsqlbn_[a-z_]+_\d+\b)
    |(?P<division>//)
    |\b(?P<type>{"|".join(map(re.escape, sorted(_TYPES, key=len, reverse=True)))})\b""",
    re.VERBOSE,
)


def spelled(sql: str, lent: Callable[[str], str]) -> str:
    """A statement as Spark reads it; `lent` gives the view that stands for a table of ours.

    >>> print(spelled("SELECT \\"a\\"::UTINYINT // 2, 'it''s a \\\\'", str))
    SELECT `a`::SMALLINT div 2, 'it\\'s a \\\\'
    """

    def respelled(token: re.Match[str]) -> str:
        if token["text"]:
            return text(token["text"][1:-1].replace("''", "'"))
        if token["table"] or token["fresh"]:
            return lent(token[0])
        if token["quoted"]:
            return quoted(token["quoted"][1:-1].replace('""', '"'))
        return "div" if token["division"] else _TYPES[token["type"]]

    return _TOKEN.sub(respelled, sql)


def quoted(name: str) -> str:
    """A name in Spark's quotes."""
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A text literal: Spark takes a backslash for the beginning of an escape."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def view_of(table: str) -> str:
    """The name of the view that stands for a table of the model's database.

    >>> view_of('"memory"."sqlbn_model_3"."classes"'), view_of("sqlbn_loo_7")
    ('sqlbn_model_3__classes', 'sqlbn_loo_7')
    """
    parts = [p.strip('"') for p in table.split(".")]
    return "__".join(parts[1:]) if len(parts) > 1 else parts[0]
