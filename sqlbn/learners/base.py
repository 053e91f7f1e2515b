"""What a learner answers; everything heavy is shared."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, cast

from sqlbn.counts.cover import Family
from sqlbn.kinds.estimates import Estimate, Missing
from sqlbn.kinds.losses import Loss
from sqlbn.options.catalogue import checked
from sqlbn.search.bounds import Rule
from sqlbn.search.dependence import Decided, Measures
from sqlbn.search.search_options import SearchOptions
from sqlbn.structure.information import Information, single_families
from sqlbn.structure.parent_sets import (
    AUTO,
    Given,
    Order,
    needs_pairs,
    position_of,
)
from sqlbn.structure.shape import Score, Select, Structure

# From measures, an order of the attributes and a rule to a structure.
Decider = Callable[[Measures, Sequence[int], Rule], Decided]
Architecture = Literal["fanc", "spc", "tc", "given"]
# Numbers of parents that are tried though no attribute can have as many.
_KEPT_PARENTS = 16


@dataclass(frozen=True)
class Selection:
    """Which nested models are tried, and by which loss one is kept."""

    ks: Sequence[int]
    select: Select
    loss: Loss

    def within(self, depth: int) -> Selection:
        """The same without numbers of parents that no attribute has: each would cost a pass.

        A few are kept: who asks for them finds them in the table.
        """
        most = max(depth, _KEPT_PARENTS)
        if self.ks[-1] <= most:
            return self
        return replace(self, ks=list(self.ks[: most + 1]) if self.ks[0] == 0 else [most])


@dataclass(frozen=True)
class Averaging:
    """A sum of products: every set of `n` attributes in turn is the parents of all others.

    `min_count` is that of subsumption resolution (None: without), `attributes` how many of the
    most informative ones take part (None: all).
    """

    n: int
    weighted: bool
    min_count: int | None
    attributes: int | None


@dataclass(frozen=True)
class Collecting:
    """A product of sums: which parent sets each attribute has.

    `superparent` is a name or "auto"; `by_rows` tries all as super parents on the training rows.
    `first` is how many attributes of the order may be parents (None: all), `given` what the user
    says of the architecture of that name.
    """

    architecture: Architecture
    order: Order = "schema"
    first: int | None = None
    superparent: str | None = None
    by_rows: bool = False
    given: Given = field(default_factory=dict)

    @property
    def by_gain(self) -> bool:
        """Whether the order or the super parent is that of `gain`."""
        return self.superparent == AUTO or needs_pairs(self.order)


@dataclass(frozen=True)
class Weighing:
    """Weights of attributes from a search over subsets: of all models tried, or of the best one."""

    single: bool


@dataclass(frozen=True)
class Searching:
    """Parents from a search over networks, by one of the methods hgc, vfbn1 and vfbn2."""

    method: str
    options: SearchOptions


@dataclass(frozen=True)
class Smooths:
    """The estimate and the policy for missing values that a learner has unless told otherwise."""

    estimate: Estimate = "m"
    missing: Missing = "value"


class Learner(ABC):
    """A learner whose score is P(y) times a product of P(x_i | parents, y), or sums of such.

    `smooths` is None where the estimate cannot be chosen, `has_backoff` False where a combination
    that was never seen is smoothed and no more; `weighs` where attributes count in part.
    `discretises` is how columns are cut unless told otherwise.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    # Other names, each with the options that it stands for.
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    smooths: ClassVar[Smooths | None] = Smooths()
    has_backoff: ClassVar[bool] = True
    weighs: ClassVar[bool] = False
    has_leave_one_out: ClassVar[bool] = False
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

    def families(self, d: int) -> list[Family]:
        """The families whose counts the structure needs; variable d is the class."""
        return single_families(d)

    @property
    def uses_pairs(self) -> bool:
        """Whether pairs of attributes are counted, and so parents may be found."""
        return any(len(family) > 2 for family in self.families(2))

    @property
    def orders_by_gain(self) -> bool:
        """Whether pairs of attributes are needed without the class, too, for `gain`."""
        return False

    @property
    def decider(self) -> Decider | None:
        """What finds the same structure by decisions that a bound makes sure of; None: nothing."""
        return None

    @property
    def selection(self) -> Selection | None:
        """What is chosen by leave-one-out after counting; None where nothing is."""
        return None

    @property
    def averaging(self) -> Averaging | None:
        """How products are averaged; None where the score is a single product."""
        return None

    @property
    def collecting(self) -> Collecting | None:
        """Which parent sets are summed; None where each attribute has a single one."""
        return None

    @property
    def weighing(self) -> Weighing | None:
        """How attributes get weights; None where each counts in full."""
        return None

    @property
    def searching(self) -> Searching | None:
        """How parents are searched for; None where counts of pairs tell them."""
        return None

    @property
    def score(self) -> Score | None:
        """The score of networks that the structure needs the gains of; None where it needs none."""
        return None

    @property
    def named(self) -> str | None:
        """The attribute that `superparent` names; None where that is not given."""
        return None

    def check(self, names: Sequence[str]) -> None:
        """An error where an option names an attribute that is not there."""
        if self.named is not None:
            position_of(self.named, names, "superparent")

    def chosen(self, info: Information, structure: Structure) -> dict[str, Any]:
        """What is worth noting of a structure in the model's meta table."""
        return {}

    @abstractmethod
    def structure(self, info: Information) -> Structure:
        """The order of the attributes and their parents."""

    def options(self) -> dict[str, Any]:
        """What distinguishes this learner from others of its kind, for the model's meta table."""
        return {name: value for name, value in self.given.items() if value is not False}


def checked_loss(name: str) -> Loss:
    """The loss of that name, or an error that lists them."""
    return cast(Loss, checked("loss", name))
