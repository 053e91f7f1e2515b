"""The pages of the guide, `sqlbn/help/*.md`, as a terminal shows them.

No engine is needed to read them: nothing here may import one.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Sequence
from importlib import resources

from sqlbn.errors import OptionError

# In the order in which a newcomer would read them.
TOPICS = (
    "learners", "data", "long", "encoding", "evaluation", "bench", "networks", "updates", "store",
    "spark", "export", "python", "sql", "options", "errors",
)  # fmt: skip
# Columns of a terminal that tables take; the pages' prose is as wide.
WIDTH = 80
_LEAST = 12
_COMMENT = re.compile(r"^<!--.*?-->\n", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"^```\w*\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)
_TABLE = re.compile(r"^\|.*\n\|[-: |]+\|\n((?:\|.*\n)*)", re.MULTILINE)
_BAR = re.compile(r"(?<!\\)\|")


def contents(listed: dict[str, str]) -> str:
    """Every topic with what its page is about."""
    lines = [f"  sqlbn help {topic:<10}  {text}" for topic, text in listed.items()]
    return "\n".join(
        [
            "The pages of the guide:",
            "",
            *lines,
            "",
            "A command's options: sqlbn COMMAND --help. The commands of the pages are for",
            "a checkout's top folder, with examples/adult.parquet; sqlbn demo needs none.",
        ]
    )


def page(topic: str) -> str:
    """The Markdown of a page; an unknown topic is an error that names the known."""
    if topic not in TOPICS:
        raise OptionError(f"there is no page {topic!r}; topics: {', '.join(TOPICS)}")
    return (resources.files("sqlbn") / "help" / f"{topic}.md").read_text(encoding="utf-8")


def about(text: str) -> str:
    """What a page is about: its title, behind the topic.

    >>> about("# Learners: which to take\\n\\nThere are …")
    'which to take'
    """
    return text.splitlines()[0].partition(": ")[2]


def plain(text: str) -> str:
    """A page as a terminal shows it: code indented, tables lined up, comments left out.

    >>> print(plain("Count:\\n\\n<!-- not run -->\\n```sh\\nls\\n```\\n"))
    Count:
    <BLANKLINE>
        ls
    <BLANKLINE>
    """
    text = _outside_code(text, lambda part: _TABLE.sub(_lined_up, _COMMENT.sub("", part)))
    return _CODE.sub(lambda block: textwrap.indent(block[1], "    "), text)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with its prose changed; code stays as it is."""
    ends = [0, *itertools.chain(*(block.span() for block in _CODE.finditer(text))), len(text)]
    parts = [text[start:end] for start, end in itertools.pairwise(ends)]
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))


def _lined_up(table: re.Match[str]) -> str:
    """The rows of a Markdown table in columns, cells that are too wide in several lines."""
    lines = table[0].splitlines()
    rows = [_cells(line) for line in (lines[0], *lines[2:])]
    widths = _widths(rows)
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join(line for row in rows for line in _row_lines(row, widths)) + "\n"


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(line)[1:-1]]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Of every column; while all do not fit, the widest gives way."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > WIDTH and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _row_lines(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    # Names of options are not cut at their dashes.
    wrapped = [
        textwrap.wrap(cell, width, break_on_hyphens=False)
        for cell, width in zip(row, widths, strict=True)
    ]
    return [
        "  ".join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip()
        for parts in itertools.zip_longest(*wrapped, fillvalue="")
    ]
