"""CSV files, and the types that their columns are read with: those of a model, else as written.

A file with `yes` and `no` is taken for one of truth values by the engine's look at it, and a code
that happens to have digits only for a number. To a model these would be other values.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlbn.data.files import compare_schemas, exact_pattern, file_list, label_of, sized
from sqlbn.engines import Session
from sqlbn.engines.relations import Source
from sqlbn.engines.sql import identifier, literal, select_sql
from sqlbn.engines.value_types import type_group
from sqlbn.errors import OptionError, SourceError, opt
from sqlbn.text import is_remote

# Python's names of the encodings that the engine has built in.
_ENCODINGS = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "iso8859-1": "latin-1", "utf-16": "utf-16"}
_QUANTITIES = ("integer", "float", "decimal")


def checked_encoding(name: str) -> str:
    """An encoding as the engine spells it.

    >>> checked_encoding("UTF8"), checked_encoding("iso-8859-1")
    ('utf-8', 'latin-1')
    """
    try:
        found = _ENCODINGS.get(codecs.lookup(name).name)
    except (LookupError, ValueError):
        found = None
    if found is None:
        raise OptionError(
            "choose utf-8, latin-1 or utf-16, or convert the files first, such as with iconv",
            encoding=name,
        )
    return found


def csv_source(
    session: Session,
    files: Sequence[str],
    used: Callable[[str], bool],
    trained: Types,
    encoding: str | None = None,
) -> Source:
    """CSV files with the same columns; types as in training, else those that hold all values."""
    encoding = checked_encoding(encoding) if encoding is not None else None
    for file in files:
        if not is_remote(file):
            _check_text(file, encoding, session.limits.head_bytes)
    told = f", encoding = {literal(encoding)}" if encoding is not None else ""
    schemas = {f: session.columns(f"read_csv({literal(exact_pattern(f))}{told})") for f in files}
    wanted = {name: "" for name, _ in schemas[files[0]]}
    for file in files[1:]:
        compare_schemas(files[0], wanted, file, {n: "" for n, _ in schemas[file]}, used)
    hive = any("=" in part for f in files for part in Path(f).parts[:-1])
    options = f"union_by_name = true, hive_partitioning = {str(hive).lower()}{told}"
    columns = dict(session.columns(f"read_csv({file_list(files)}, {options})"))
    own = {name: columns[name] for name in wanted if name in columns}  # not those of folders
    types = csv_types(session, [literal(exact_pattern(f)) + told for f in files], own, trained)
    return Source(
        relation=f"read_csv({file_list(files)}, {options}{types_sql(types)})",
        columns={**columns, **types},
        label=label_of(files),
        files=sized(session, files),
        rescannable=False,
    )


def _check_text(path: str, encoding: str | None, head_bytes: int) -> None:
    """An error where a file shows at once that it is encoded in another way than it is read.

    The engine finds no rows where UTF-16 is asked for and is not there, and NUL characters where
    it is there and not asked for.
    """
    with open(path, "rb") as file:  # noqa: PTH123 - keeps the user's spelling
        head = file.read(head_bytes)
    if not head:
        raise SourceError(f"{path!r} is empty")
    seen = _seen_encoding(head)
    if path.lower().endswith((".gz", ".zst")) or seen == (encoding or "utf-8"):
        return
    if seen == "utf-16-be":
        raise SourceError(
            f"{path!r} is UTF-16 with the high byte first, which the engine does not read; convert "
            "it: iconv -f UTF-16 -t UTF-8"
        )
    if seen == "utf-16":
        raise SourceError(f"{path!r} is UTF-16; add {opt('encoding', 'utf-16')}")
    if encoding == "utf-16":
        raise SourceError(f"{path!r} is not UTF-16; it looks like {seen}: {opt('encoding', seen)}")
    if encoding is None and seen == "latin-1":
        raise SourceError(
            f"{path!r} is not UTF-8 but looks like Latin-1; add {opt('encoding', 'latin-1')}"
        )


def _seen_encoding(head: bytes) -> str:
    """What the first bytes of a file look like."""
    low, high = head[1::2].count(0), head[0::2].count(0)
    if head[:2] == codecs.BOM_UTF16_LE or low > len(head) / 4 > high * 4:
        return "utf-16"
    if head[:2] == codecs.BOM_UTF16_BE or high > len(head) / 4 > low * 4:
        return "utf-16-be"
    try:
        # The last bytes may be half a character: it waits for the rest.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


# -- types -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """A column's type in training; of a `quantity` whatever is no number is an error."""

    sql_type: str
    quantity: bool = False


Types = Mapping[str, Trained]


def type_like(found: str, trained: Trained) -> str:
    """The type to read a column with that looks like `found`.

    >>> type_like("BOOLEAN", Trained("VARCHAR")), type_like("BIGINT", Trained("DOUBLE", True))
    ('VARCHAR', 'DOUBLE')
    >>> type_like("VARCHAR", Trained("INTEGER", True)), type_like("VARCHAR", Trained("INTEGER"))
    ('DOUBLE', 'VARCHAR')
    """
    group, wanted = type_group(found), type_group(trained.sql_type)
    if wanted == "text":
        return "VARCHAR"
    if group == wanted:  # the new file may need a wider one of the same kind
        return found
    if wanted in _QUANTITIES and group in _QUANTITIES:
        return found if wanted == "integer" else "DOUBLE"
    if trained.quantity:
        return "DOUBLE" if wanted in _QUANTITIES else trained.sql_type
    return "VARCHAR" if group == "boolean" else found


def csv_types(
    session: Session, files: Sequence[str], columns: Mapping[str, str], trained: Types
) -> dict[str, str]:
    """The columns that must not be read as the engine would; `files` are arguments of
    `read_csv`: patterns, quoted, and options."""
    known = {name.lower(): type_ for name, type_ in trained.items()}
    wanted = {
        name: type_like(found, known[name.lower()])
        for name, found in columns.items()
        if name.lower() in known
    }
    truths = [n for n, found in columns.items() if found == "BOOLEAN" and n not in wanted]
    wanted |= dict.fromkeys(_other_words(session, files, truths), "VARCHAR")
    return {name: type_ for name, type_ in wanted.items() if type_ != columns[name]}


def types_sql(types: Mapping[str, str]) -> str:
    """The option of `read_csv` for these types, after others."""
    if not types:
        return ""
    listed = ", ".join(f"{literal(name)}: {literal(type_)}" for name, type_ in types.items())
    return f", types = {{{listed}}}"


def _other_words(session: Session, files: Sequence[str], names: Sequence[str]) -> set[str]:
    """The columns with words such as yes and no where the engine sees true and false."""
    found: set[str] = set()
    if not names:
        return found
    as_text = types_sql(dict.fromkeys(names, "VARCHAR"))
    items = ", ".join(
        f"bool_and(lower({identifier(n)}) IN ('true', 'false')) IS NOT false" for n in names
    )
    listed = ", ".join(map(identifier, names))
    for file in files:
        rows = select_sql(f"read_csv({file}{as_text})", listed, limit=session.limits.csv_rows)
        plain = session.row(select_sql(f"({rows})", items))
        found |= {name for name, is_plain in zip(names, plain, strict=True) if not is_plain}
    return found
