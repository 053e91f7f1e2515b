"""How options are spelled in messages: `--k 0` in a shell, `k=0` in Python.

Messages are written once, the way of a shell: `--name`, `--name value`. Errors and warnings turn
into the spelling of whoever called when they are read: Python's, unless the program speaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

PYTHON, SHELL = "python", "shell"
_SPEAKER: ContextVar[str] = ContextVar("speaker", default=PYTHON)

# Options without a value.
_FLAGS = {
    "again", "json", "map", "replace", "same-structure", "strict", "subsumption", "trust-sql",
    "weighted",
}  # fmt: skip
# Options that have another name in Python.
_NAMES = {"from": "other_store"}
# The values that messages name in a sentence; any other word after an option is prose.
_WORDS = {
    "backoff": "cell expected parents parents-both",
    "discretise": "auto ef mdl modl",
    "encoding": "latin-1 utf-16 utf-8",
    "engine": "duckdb spark",
    "estimate": "laplace m",
    "format": "bif json pmml sql",
    "learner": "ande hgc kdb nb skdb snb tan vfbn1 vfbn2",
    "method": "hgc vfbn1 vfbn2",
    "missing": "ignore value",
    "order": "gain mi schema",
    "random": "ban nb nb|tan|ban tan",
    "score": "aic bayes bdeu bic k2",
    "select": "attributes both k",
    "unseen": "neutral smoothed",
    "weight-kind": "frequency importance",
}
_QUOTED = r"""(?<![\w'"])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_OPTION = r"(?<![\w-])--(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)"
# What begins a message is an option with its value, up to the colon: '--score best: choose …'.
_FIRST = re.compile(rf"{_OPTION} (?P<value>{_QUOTED}|[^\s'\"]\S*?)(?=: )", re.DOTALL)
_NUMBER = r"-?(?:\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?|nan|inf)(?![\w.])"
_NAMED = r"[A-Z][A-Z]+(?![\w.])"
_ADDRESS = r"[^\s:'\"]+://[^\s;)]*|[\w.]+=[^\s)]+|[^\s:;,'\"]*[./][^\s:;,]*\w"
_WORD = r"[\w|]+(?:-\w+)*"
_VALUE = rf"(?: (?P<value>{_QUOTED}|{_NUMBER}|{_NAMED}|{_ADDRESS}|{_WORD}))?"
_ANY = re.compile(rf"{_QUOTED}|{_OPTION}{_VALUE}")
_COMMAND = re.compile(r"`sqlbn (?:(network) )?([a-z]+)")


@contextmanager
def spoken(speaker: str) -> Iterator[None]:
    """Messages are for a shell, or for Python, meanwhile."""
    before = _SPEAKER.set(speaker)
    try:
        yield
    finally:
        _SPEAKER.reset(before)


def spelled(text: str) -> str:
    """A message in the spelling of whoever called."""
    return in_python(text) if _SPEAKER.get() == PYTHON else text


def in_python(text: str) -> str:
    """A message with its options as keywords.

    >>> in_python("--k -1: give 0 or more parents")
    'k=-1: give 0 or more parents'
    >>> in_python("--bins goes with --discretise ef; use --replace, or another --name")
    "bins goes with discretise='ef'; use replace=True, or another name"
    """
    begun = _FIRST.match(text)
    head, rest = "", text
    if begun and begun["name"] not in _FLAGS and "--" not in begun["value"]:
        head = f"{_keyword(begun['name'])}={_python_value(begun['value'])}"
        rest = text[begun.end() :]
    return head + _COMMAND.sub(_python_command, _ANY.sub(_python_option, rest))


def _python_option(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    if name is None:  # a quoted text is the user's own
        return found[0]
    if name in _FLAGS:
        return f"{_keyword(name)}=True" + (f" {value}" if value else "")
    if value is None:
        return _keyword(name)
    if re.fullmatch(_WORD, value) and not _is_value(name, value):
        return f"{_keyword(name)} {value}"
    return f"{_keyword(name)}={_python_value(value)}"


def _is_value(name: str, word: str) -> bool:
    """Whether a word after an option is its value, not the next word of the sentence."""
    return bool(re.fullmatch(rf"{_NAMED}|{_NUMBER}", word)) or word in _WORDS.get(name, "").split()


def _python_value(value: str) -> str:
    """A value as Python writes it; what is in quotes, a number or a word in capitals stays."""
    if re.fullmatch(rf"{_QUOTED}|{_NAMED}|{_NUMBER}|True|False|None", value, re.DOTALL):
        return value
    return repr(value)


def _keyword(name: str) -> str:
    return _NAMES.get(name, name).replace("-", "_")


def _python_command(found: re.Match[str]) -> str:
    return f"`sqlbn.{'networks.' if found[1] else ''}{found[2]}"
