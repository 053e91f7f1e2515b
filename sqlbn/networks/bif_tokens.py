"""The words of a BIF file, one after the other, with their lines. What they mean is not known here.

White space, `,`, `|` and comments only separate, as the format's description has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlbn.errors import NetworkError

# A slash can be part of a word (`Asy/Patch`), two slashes begin a comment anywhere.
_TOKEN = re.compile(
    r"""
    (?P<gap>     (?: [\s,|\ufeff] | //[^\n\r]* | /\*.*?\*/ )+ )
  | (?P<sign>    [{}()\[\];] )
  | (?P<quoted>  "(?:[^"\\]|\\.)*" )
  | (?P<word>    (?: [^\s,|{}()\[\];"/] | /(?![/*]) )+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_PROPERTY = re.compile(r'(?:"[^"\n]*"|[^";])*;|[^;]*;')
_ESCAPED = re.compile(r'\\(["\\])')
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
# Our reader knows a word by its place; others may not.
_RESERVED = {
    "network",
    "variable",
    "probability",
    "property",
    "type",
    "discrete",
    "table",
    "default",
}


@dataclass(frozen=True)
class BifToken:
    """A word, a quoted name (`quoted`), a sign; at the end of the file an empty sign."""

    text: str
    line: int
    kind: str

    @property
    def is_name(self) -> bool:
        """Whether it can be a name or a number."""
        return self.kind != "sign"

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words of the format, in any case and not in quotes."""
        return self.kind == "word" and self.text.lower() in words

    def is_sign(self, sign: str) -> bool:
        """Whether it is this sign."""
        return self.kind == "sign" and self.text == sign

    def __str__(self) -> str:
        return "the end of the file" if self.kind == "sign" and not self.text else repr(self.text)


class Tokens:
    """A file's tokens with one of them in view."""

    def __init__(self, text: str, label: str) -> None:
        self._text, self._label = text, label
        self._at, self._line = 0, 1
        self.next = self._scan()

    def take(self) -> BifToken:
        """The token in view; the one after it comes into view."""
        taken, self.next = self.next, self._scan()
        return taken

    def sign(self, sign: str, where: str) -> None:
        """A sign that must come now."""
        if not self.next.is_sign(sign):
            raise self.expected(f"{sign!r} {where}")
        self.take()

    def name(self, what: str) -> str:
        """A name that must come now."""
        if not self.next.is_name:
            raise self.expected(what)
        return self.take().text

    def skip_property(self) -> None:
        """Leave out a property, whose word was just taken: free text up to a semicolon."""
        # The token in view belongs to the text: it is read again, as text.
        self._at, self._line = self._start, self._start_line
        found = _PROPERTY.match(self._text, self._at)
        if found is None:
            raise self.error("expected ';' at the end of the property", self._line)
        self._pass(found.end())
        self.next = self._scan()

    def expected(self, what: str) -> NetworkError:
        """An error: something else should stand here."""
        return self.error(f"expected {what}, found {self.next}", self.next.line)

    def error(self, message: str, line: int) -> NetworkError:
        """An error that says where."""
        return NetworkError(f"{self._label}, line {line}: {message}")

    def _pass(self, end: int) -> None:
        self._line += self._text.count("\n", self._at, end)
        self._at = end

    def _scan(self) -> BifToken:
        self._start, self._start_line = self._at, self._line
        while self._at < len(self._text):
            found = _TOKEN.match(self._text, self._at)
            if found is None:
                what = "comment" if self._text.startswith("/*", self._at) else "quoted name"
                raise self.error(f"the {what} that begins here does not end", self._line)
            line, kind = self._line, str(found.lastgroup)
            self._pass(found.end())
            if kind == "quoted":
                return BifToken(_ESCAPED.sub(r"\1", found[0][1:-1]), line, kind)
            if kind != "gap":
                return BifToken(found[0], line, kind)
        return BifToken("", self._line, "sign")


def written(name: str) -> str:
    """A name as it stands in a file: in quotes unless it is a plain word.

    >>> print(written("low"), written("0-3 days"), written("table"), written('5" pipe'))
    low "0-3 days" "table" "5\\" pipe"
    """
    if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    return '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'
