"""What an option is: its help, group, flag, usual value and check; not which options there are."""

from __future__ import annotations

import math
import numbers
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlbn.errors import OptionError

# What is wrong with a value and what to give instead; None where nothing is.
Check = Callable[[Any], str | None]

# The groups of `--help` and of the reference page, in their order.
DATA = "Data"
LEARNER = "Learner"
SEARCH = "Structure search"
SMOOTHING = "Smoothing"
ENCODING = "Encoding"
EVALUATION = "Evaluation"
NETWORK = "Network"
STORE = "Store"
OUTPUT = "Output"
RESOURCES = "Resources"
GROUPS = (
    DATA, LEARNER, SEARCH, SMOOTHING, ENCODING, EVALUATION, NETWORK, STORE, RESOURCES, OUTPUT,
)  # fmt: skip


@dataclass(frozen=True)
class Option:
    """One option; `name` and `type` are those of the annotation that it stands in.

    `usual` says in words what holds where none is given, `choices` are the words it takes.
    """

    help: str
    group: str
    default: Any = None
    usual: str | None = None
    choices: tuple[str, ...] = ()
    check: Check | None = None
    metavar: str | None = None
    short: str | None = None
    flag: str | None = None
    argument: bool = False
    required: bool = False
    only_python: bool = False
    only_program: bool = False
    name: str = ""
    type: Any = None

    @property
    def flags(self) -> tuple[str, ...]:
        """How the command line spells it."""
        long = "--" + (self.flag or self.name).replace("_", "-")
        return (long, self.short) if self.short else (long,)

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that its value may have, None left out."""
        found = typing.get_args(self.type) if _is_union(self.type) else (self.type,)
        return tuple(kind for kind in found if kind is not type(None))

    @property
    def is_list(self) -> bool:
        """Whether it takes several names."""
        return any(typing.get_origin(kind) is Sequence for kind in self.kinds)

    @property
    def shown_default(self) -> str | None:
        """The value that holds where none is given, for people."""
        if self.usual is not None:
            return self.usual
        shown = self.default is not None and not isinstance(self.default, bool)
        return str(self.default) if shown else None

    def checked(self, value: Any) -> Any:
        """The value; an error where it cannot be that of this option."""
        problem = self.problem(value) if value is not None else None
        if problem is not None:
            raise OptionError(problem, **{self.name: value})
        return value

    def problem(self, value: Any) -> str | None:
        """What is wrong with a value."""
        wrong = _type_problem(self.kinds, value)
        if wrong is not None:
            return wrong
        if self.choices and value not in self.choices:
            return f"choose {listed_words(self.choices)}"
        return self.check(value) if self.check is not None else None


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


# The simple types, what a value of each is an instance of, and what to give.
_SIMPLE: dict[Any, tuple[Any, str]] = {
    int: (numbers.Integral, "give a whole number"),
    float: (numbers.Real, "give a number"),
    str: (str, "give a text"),
}


def _type_problem(kinds: Sequence[Any], value: Any) -> str | None:
    """What to give instead of a value of another type; only simple types are looked at."""
    if len(kinds) != 1 or kinds[0] not in _SIMPLE:
        return None
    known, remedy = _SIMPLE[kinds[0]]
    return None if isinstance(value, known) and not isinstance(value, bool) else remedy


# -- checks ---------------------------------------------------------------------------------------


def at_least(least: int, what: str = "") -> Check:
    """A whole number of so many or more.

    >>> at_least(0, "parents")(-1), at_least(1)(0), at_least(1)(1)
    ('give 0 or more parents', 'give at least 1', None)
    """
    more = f" {what}" if what else ""
    text = f"give 0 or more{more}" if least == 0 else f"give at least {least}{more}"
    return lambda value: text if value < least else None


def above_zero(value: float) -> str | None:
    """A number above 0, and not so small that its inverse is none."""
    return None if 1e-300 < value < math.inf else "give a number above 0"


def probability_of_error(value: float) -> str | None:
    """A probability that a bound can keep."""
    return None if 0 < value < 0.5 else "give a probability above 0 and below 0.5"


def probability(value: float) -> str | None:
    """A probability."""
    return None if 0 <= value <= 1 else "give a probability from 0 to 1"


def listed_words(words: Sequence[str]) -> str:
    """Words with 'or' before the last.

    >>> listed_words(["a"]), listed_words(["a", "b", "c"])
    ('a', 'a, b or c')
    """
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


# -- reading declarations -------------------------------------------------------------------------


def declared(of: type | Callable[..., Any]) -> dict[str, Option]:
    """The options that a class or a signature declares: names with `Annotated[type, Option(…)]`."""
    found = {}
    for name, hint in typing.get_type_hints(of, include_extras=True).items():
        kind, *about = (
            typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else [hint]
        )
        option = next((a for a in about if isinstance(a, Option)), None)
        if option is not None:
            found[name] = replace(option, name=name, type=kind)
    return found


def annotated(hint: Any) -> tuple[Any, Sequence[Any]]:
    """A type, and what `Annotated` says of it."""
    if typing.get_origin(hint) is not typing.Annotated:
        return hint, ()
    kind, *about = typing.get_args(hint)
    return kind, about


def unknown(name: str, valid: Mapping[str, Any] | Sequence[str]) -> OptionError:
    """The error for an option that there is not."""
    return OptionError(f"unknown option {name!r}; valid: {', '.join(valid)}")
