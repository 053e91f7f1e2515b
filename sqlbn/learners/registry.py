"""Learners by the name users give; each registers itself, and its options are its `__init__`.

    @register
    class Stump(Learner):
        name, summary = "stump", "one attribute, the most informative"

        def __init__(self, depth: Annotated[int, "how many attributes are used"] = 1) -> None: …

makes `fit(…, learner="stump", depth=2)` work, and in the program of the same process
`--learner stump --depth 2`. Modules in this folder are loaded, and so registered, by themselves.
"""

from __future__ import annotations

import inspect
import pkgutil
import typing
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from sqlbn.errors import OptionError, opt
from sqlbn.options.catalogue import ADDED, FitKeywords, add_option, fit_options_known, names_of
from sqlbn.options.option import LEARNER, Option, annotated

if TYPE_CHECKING:
    from sqlbn.learners.base import Learner

_REGISTERED: dict[str, type[Learner]] = {}
L = TypeVar("L", bound="type[Learner]")


def register(learner: L) -> L:
    """Make a learner known by its `name`; a decorator. Options that are new are added."""
    for name in (learner.name, *learner.aliases):
        known = _REGISTERED.get(name)
        if known is not None and known.__qualname__ != learner.__qualname__:
            raise ValueError(f"there is a learner {name!r} already: {known.__qualname__}")
    _REGISTERED[learner.name] = learner
    known_names = names_of(FitKeywords)
    for option in signature_options(learner).values():
        if option.name not in known_names:
            add_option(option)
    return learner


def unregister(learner: type[Learner]) -> None:
    """Make a learner unknown again, with the options that only it has."""
    del _REGISTERED[learner.name]
    others = {name for other in _REGISTERED.values() for name in signature_options(other)}
    for name in signature_options(learner).keys() - others:
        ADDED.pop(name, None)


@cache
def _load_own() -> None:
    """Import the modules of this package: each registers the learners in it."""
    package = import_module("sqlbn.learners")
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"sqlbn.learners.{module.name}")


def learners() -> Mapping[str, type[Learner]]:
    """All learners by name."""
    _load_own()
    return dict(sorted(_REGISTERED.items()))


def aliases() -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Short names: the learner, and the options that they stand for."""
    return {
        alias: (name, said)
        for name, learner in learners().items()
        for alias, said in learner.aliases.items()
    }


def learner_names() -> list[str]:
    """All names that a user may give."""
    return [*learners(), *aliases()]


@cache
def signature_options(learner: type[Learner]) -> Mapping[str, Option]:
    """The options that a learner takes: the arguments of its `__init__`."""
    if learner.__init__ is object.__init__:
        return {}
    hints = typing.get_type_hints(learner.__init__, include_extras=True)
    found = {}
    for name, parameter in inspect.signature(learner.__init__).parameters.items():
        if name == "self":
            continue
        kind, about = annotated(hints.get(name, str))
        usual = parameter.default
        told = next((a for a in about if isinstance(a, Option)), None) or Option(
            f"{learner.name}: {_help(learner, name, about)}",
            LEARNER,
            default=False if usual is False else None,
            usual=None if usual in (None, False, parameter.empty) else str(usual),
        )
        found[name] = replace(told, name=name, type=kind if kind is bool else kind | None)
    return found


def _help(learner: type[Learner], name: str, about: Iterable[Any]) -> str:
    """What an argument is: by its annotation, or by its line in the docstring."""
    texts = [a for a in about if isinstance(a, str)]
    lines = (inspect.getdoc(learner) or "").splitlines()
    texts += [
        text.strip() for line in lines for key, _, text in [line.partition(":")] if key == name
    ]
    return texts[0] if texts else name.replace("_", " ")


def learner_options() -> set[str]:
    """Options that only some learners take."""
    return {name for learner in learners().values() for name in signature_options(learner)}


def takes(name: str, option: str) -> bool:
    """Whether a learner, by its name or a short one, takes an option."""
    name, said = aliases().get(name, (name, {}))
    return option in signature_options(learners()[name]) and option not in said


def make_learner(name: str, **options: Any) -> Learner:
    """The learner of that name; an option that it does not take is an error, not ignored."""
    given = {key: value for key, value in options.items() if value is not None}
    if name in aliases():
        alias, (name, said) = name, aliases()[name]
        for key in said.keys() & given.keys():
            raise OptionError(f"{opt(key)} is already said by the name {alias}; use {name}")
        given |= said
    learner = learner_class(name)
    for key in given:
        if key not in signature_options(learner):
            raise not_taken(key, name)
    return learner(**given)


def learner_class(name: str) -> type[Learner]:
    """The class of a learner; an error that lists the names where there is none."""
    if name not in learners():
        raise OptionError(
            f"there is no learner {name!r}; choose one of {', '.join(learner_names())}"
        )
    return learners()[name]


def not_taken(option: str, name: str) -> OptionError:
    """The error for an option that a learner does not take: who does, and what this one takes."""
    takers = [other for other in learners() if takes(other, option)]
    known = fit_options_known().get(option)
    named = opt(option, True) if known is not None and known.type is bool else opt(option)
    return OptionError(
        f"{named} is not for the learner {name}; it goes with {', '.join(takers)}; "
        f"{own_options(name)}"
    )


def own_options(name: str) -> str:
    """What a learner takes besides the options of all, for a message."""
    learner = learners()[aliases().get(name, (name,))[0]]
    own = [opt(option) for option in signature_options(learner) if takes(name, option)]
    return f"{name} takes {', '.join(own) or 'no option of its own'}"


def smoothed_learners() -> list[str]:
    """The learners whose estimates can be chosen."""
    return [name for name, learner in learners().items() if learner.smooths is not None]
