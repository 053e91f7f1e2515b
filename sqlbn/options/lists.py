"""Options that take several names: 'a,b' is two, '"a,b",c' quotes a name that has a comma.

In Python a list is a list of names; a string is read as in a shell. A text that as a whole is the
name of something there, such as a column, is that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

_PIECE = re.compile(r'\s*("(?:[^"]|"")*"|[^,]*?)\s*(,|$)', re.DOTALL)


class Listed(str):
    """The text of a list option: one name, or several with commas between them."""

    __slots__ = ()


def listed(texts: Iterable[str] | None) -> tuple[str, ...]:
    """The texts of an option that may be repeated."""
    return tuple(map(Listed, texts or ()))


def as_list(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """What Python gave for a list option: names, or one text to be read."""
    if given is None:
        return ()
    return (Listed(given),) if isinstance(given, str) else tuple(given)


def split_list(text: str) -> list[str]:
    """The names in a text.

    >>> split_list('a, b'), split_list('"a,b",c'), split_list('5" pipe')
    (['a', 'b'], ['a,b', 'c'], ['5" pipe'])
    """
    found, at = [], 0
    while at <= len(text):
        piece = _PIECE.match(text, at)
        assert piece is not None  # the empty piece always matches
        word = piece[1]
        found.append(word[1:-1].replace('""', '"') if word[:1] == '"' == word[-1:] else word)
        if not piece[2]:
            break
        at = piece.end()
    return [word for word in found if word] or [""]


def quoted_name(name: str) -> str:
    """A name as `split_list` reads it back.

    >>> quoted_name("a"), quoted_name("a,b")
    ('a', '"a,b"')
    """
    odd = "," in name or name[:1] == '"' or name != name.strip()
    return '"' + name.replace('"', '""') + '"' if odd else name


def names_in(
    given: Iterable[str], is_name: Callable[[str], bool] = lambda text: False
) -> list[str]:
    """The names of a list option; a text that as a whole is a name is not split."""
    found: list[str] = []
    for text in given:
        whole = not isinstance(text, Listed) or is_name(str(text))
        found += [str(text)] if whole else split_list(text)
    return found


def possible_names(given: Iterable[str]) -> set[str]:
    """The names that a list option may mean, as long as it is not known what there is."""
    return {name for text in given for name in (str(text), *names_in([text]))}


def paths_in(given: Sequence[str]) -> list[str]:
    """Paths of a list option; a comma may be part of one that is there."""
    return names_in(listed(given), lambda text: Path(text).exists())


def pairs_in(given: Iterable[str]) -> list[str]:
    """The pairs of an option such as 'a=1,b=2'; what has no '=' belongs to the value before it.

    >>> pairs_in(["a=1,b=2", "c=(1, 2]"])
    ['a=1', 'b=2', 'c=(1, 2]']
    """
    found: list[str] = []
    for text in given:
        pieces = re.split(r",(?=[^,=]*=)", text)
        found += [piece.strip() for piece in pieces]
    return found
