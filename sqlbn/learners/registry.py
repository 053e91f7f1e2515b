"""Learners by the name users give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlbn.errors import OptionError
from sqlbn.learners.ande import ALIASES, Ande
from sqlbn.learners.base import Learner
from sqlbn.learners.collections import (
    Collection,
    Fanc,
    Spc,
    Spcr,
    Tc,
)
from sqlbn.learners.fan import Fan
from sqlbn.learners.kdb import Kdb
from sqlbn.learners.nb import NaiveBayes
from sqlbn.learners.searched import Hgc, Vfbn1, Vfbn2
from sqlbn.learners.skdb import Skdb
from sqlbn.learners.snb import Snb
from sqlbn.learners.superparent import SuperParent
from sqlbn.learners.tan import Tan

LEARNERS: dict[str, type[Learner]] = {
    c.name: c
    for c in (
        NaiveBayes, Tan, Kdb, Skdb, Ande, Fan, SuperParent, Fanc, Spc, Spcr, Tc, Collection, Snb,
        Hgc, Vfbn1, Vfbn2,
    )
}  # fmt: skip

# Which options each learner takes, and how it is made of them.
_MAKERS: dict[str, Callable[..., Learner]] = {
    "nb": NaiveBayes,
    "tan": Tan,
    "kdb": Kdb,
    "skdb": Skdb,
    "ande": Ande,
    "fan": Fan,
    "superparent": SuperParent,
    "fanc": Fanc,
    "spc": Spc,
    "spcr": Spcr,
    "tc": Tc,
    "collection": Collection,
    "snb": Snb,
    "hgc": Hgc,
    "vfbn1": Vfbn1,
    "vfbn2": Vfbn2,
}
_TAKES: dict[str, set[str]] = {
    "nb": set(),
    "tan": set(),
    "kdb": {"k"},
    "skdb": {"kmax", "select", "loss"},
    "ande": {"n", "subsumption", "weighted", "min_count", "attributes", "select", "loss"},
    "fan": {"score", "order"},
    "superparent": {"superparent", "order"},
    "fanc": {"order", "parents_from_first"},
    "spc": {"superparent", "order", "parents_from_first"},
    "spcr": {"order", "parents_from_first"},
    "tc": {"order", "parents_from_first"},
    "collection": {"parents"},
    "snb": {"map"},
    "hgc": {"search"},
    "vfbn1": {"search"},
    "vfbn2": {"search"},
}


# Options that only some learners take.
LEARNER_OPTIONS = frozenset().union(*_TAKES.values())


def takes(name: str, option: str) -> bool:
    """Whether a learner, or one of ande's short names, takes an option."""
    if name in ALIASES:
        return option in _TAKES["ande"] and option not in ALIASES[name]
    return option in _TAKES[name]


def make_learner(name: str, **options: Any) -> Learner:
    """The learner of that name; an option it does not know is an error, not ignored."""
    given = {key: value for key, value in options.items() if value is not None}
    if name in ALIASES:
        for key in ALIASES[name].keys() & given.keys():
            raise OptionError(f"{switch(key)} is already said by the name {name}; use ande")
        name, given = "ande", {**given, **ALIASES[name]}
    if name not in LEARNERS:
        known = ", ".join([*LEARNERS, *ALIASES])
        raise OptionError(f"there is no learner {name!r}; choose one of {known}")
    for key in given:
        if key not in _TAKES[name]:
            takers = [n for n, keys in _TAKES.items() if key in keys]
            raise OptionError(
                f"{switch(key)} is not for the learner {name}; it goes with {', '.join(takers)}"
            )
    return _MAKERS[name](**given)


def smoothed_learners() -> list[str]:
    """The learners whose estimates can be chosen."""
    return [name for name, learner in LEARNERS.items() if learner.smooths is not None]


def switch(option: str) -> str:
    """An option as the command line spells it."""
    return "--" + option.replace("_", "-")
