"""Learners by the name users give."""

from __future__ import annotations

from collections.abc import Callable

from sqlbn.errors import OptionError
from sqlbn.learners.base import Learner
from sqlbn.learners.kdb import Kdb
from sqlbn.learners.nb import NaiveBayes
from sqlbn.learners.skdb import Skdb
from sqlbn.learners.tan import Tan

LEARNERS: dict[str, type[Learner]] = {c.name: c for c in (NaiveBayes, Tan, Kdb, Skdb)}

# Which options each learner takes, and how it is made of them.
_MAKERS: dict[str, Callable[..., Learner]] = {
    "nb": NaiveBayes,
    "tan": Tan,
    "kdb": Kdb,
    "skdb": Skdb,
}
_TAKES: dict[str, set[str]] = {
    "nb": set(),
    "tan": set(),
    "kdb": {"k"},
    "skdb": {"kmax", "select", "loss"},
}


def make_learner(name: str, **options: int | float | str | None) -> Learner:
    """The learner of that name; an option it does not know is an error, not ignored."""
    if name not in LEARNERS:
        raise OptionError(f"there is no learner {name!r}; choose one of {', '.join(LEARNERS)}")
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in _TAKES[name]:
            takers = [n for n, keys in _TAKES.items() if key in keys]
            raise OptionError(
                f"--{key} is not for the learner {name}; it goes with {', '.join(takers)}"
            )
    return _MAKERS[name](**given)
