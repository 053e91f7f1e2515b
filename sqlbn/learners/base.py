"""What a learner answers; everything heavy is shared."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self, cast

from sqlbn.kinds.estimates import Estimate, Missing
from sqlbn.kinds.kind import Kind, Needs
from sqlbn.kinds.losses import Loss
from sqlbn.options.catalogue import checked
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Structure, no_parents


@dataclass(frozen=True)
class Smooths:
    """The estimate and the policy for missing values that a learner has unless told otherwise."""

    estimate: Estimate = "m"
    missing: Missing = "value"


class Learner(ABC):
    """A learner: which counts it needs, what structure they give, how a row is scored.

    `smooths` is None where the estimate cannot be chosen, `has_backoff` False where a combination
    that was never seen is smoothed and no more. `discretises` is how columns are cut unless told
    otherwise.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    # Other names, each with the options that it stands for.
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    smooths: ClassVar[Smooths | None] = Smooths()
    has_backoff: ClassVar[bool] = True
    discretises: ClassVar[str] = "ef"

    def __new__(cls, *args: Any, **options: Any) -> Self:
        made = super().__new__(cls)
        if cls.__init__ is not object.__init__:
            made._given = inspect.signature(cls).bind(*args, **options).arguments
        return made

    _given: Mapping[str, Any] = MappingProxyType({})

    @property
    def given(self) -> dict[str, Any]:
        """The options that it was made with."""
        return {name: value for name, value in self._given.items() if value is not None}

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.given.items())
        return f"{type(self).__name__}({said})"

    @property
    def needs(self) -> Needs:
        """Which counts the structure needs besides those of every attribute with the class."""
        return Needs()

    def structure(self, info: Information) -> Structure:
        """The order of the attributes and their parents; unless told otherwise, no parents."""
        return no_parents(info)

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """How a row is scored: a kind of model with its parameters."""

    @property
    def single(self) -> Learner:
        """The learner of one model, by which encodings are compared: of an ensemble a member."""
        own = {name: value for name, value in self.given.items() if name != "members"}
        return type(self)(**own) if own != self.given else self

    def up_to(self, parents: int) -> Learner:
        """The same where no more parents are to be tried than so many."""
        return self

    def check(self, names: Sequence[str]) -> None:
        """An error where an option names an attribute that is not there."""
        return

    def chosen(self, info: Information, structure: Structure) -> dict[str, Any]:
        """What is worth noting of a structure in the model's meta table."""
        return {}

    def options(self) -> dict[str, Any]:
        """What distinguishes this learner from others of its kind, for the model's meta table."""
        return {name: value for name, value in self.given.items() if value is not False}


def checked_loss(name: str) -> Loss:
    """The loss of that name, or an error that lists them."""
    return cast(Loss, checked("loss", name))
