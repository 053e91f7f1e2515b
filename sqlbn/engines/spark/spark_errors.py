"""One clear line for what Spark says, which is often a hundred."""

from __future__ import annotations

import re

from sqlbn.errors import (
    EngineError,
    OutOfMemoryError,
    SourceError,
    SqlbnError,
    opt,
)
from sqlbn.text import without_secrets

_DAMAGED = (
    "magic number",
    "is not a parquet file",
    "parquet_footer",
    "corrupt",
    "cannot_read_file",
)


def translate(error: BaseException) -> SqlbnError:
    """Spark's error as one of ours."""
    line = first_line(error)
    text = str(error)
    lower = text.lower()
    if "path_not_found" in lower or "path does not exist" in lower:
        return SourceError(f"{line}; check the path")
    if any(sign in lower for sign in _DAMAGED):
        return SourceError(f"damaged Parquet file: {_file_in(text) or line}; write the file again")
    if "outofmemoryerror" in lower or "java heap space" in lower:
        return OutOfMemoryError(
            f"Spark is out of memory: {line}; give its executors more "
            f"({opt('spark_conf', 'spark.executor.memory=4g')}), or the driver with "
            f"{opt('memory_limit')}"
        )
    if "merge" in lower and "schema" in lower:
        return SourceError(
            f"the files do not have one schema: {line}; {opt('exclude')} what differs"
        )
    return EngineError(f"Spark says: {line}")


def first_line(error: BaseException) -> str:
    """The message without the call stack that follows it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = lines[0] if lines else type(error).__name__
    line = re.sub(r"^(\([\w.$]+\)\s*)?(\[[A-Z0-9_.]+\]\s*)?", "", line) or line  # Java, its code
    return without_secrets(re.sub(r"\s*SQLSTATE: \w+;?.*$", "", line)[:400])


def _file_in(text: str) -> str | None:
    found = re.search(r"(\S+\.(?:parquet|pq|parq))", text)
    return found[1].strip("'`\",.") if found else None
