"""Text of users as a person may see it: no character that commands a terminal or hides others."""

from __future__ import annotations

import re

# Control characters (C0, DEL, C1), which move the cursor, clear the screen or set its title; marks
# that turn the direction of text; separators of lines; halves of characters (of a file name that is
# no UTF-8), which no terminal and no XML can hold; and what is no character at all.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str, keep: str = "") -> str:
    r"""A text in which such characters are spelled out, but for those to `keep`.

    >>> print(printable("größe \x1b]0;title\x07\n"), printable("a\nb", keep="\n") == "a\nb")
    größe \x1b]0;title\x07\n True
    """
    return _UNSAFE.sub(lambda sign: sign[0] if sign[0] in keep else _spelled(sign[0]), text)


def _spelled(sign: str) -> str:
    return sign.encode("unicode_escape", "surrogatepass").decode("ascii")
