"""What a learner answers; everything heavy is shared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from sqlbn.counts.cover import Family
from sqlbn.errors import OptionError
from sqlbn.scoring.loo_losses import LOSSES, Loss
from sqlbn.structure.information import Information, single_families
from sqlbn.structure.parents import Structure
from sqlbn.structure.selection import Select


@dataclass(frozen=True)
class Selection:
    """Which nested models are tried, and by which loss one is kept."""

    ks: tuple[int, ...]
    select: Select
    loss: Loss


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


class Learner(ABC):
    """A learner whose score is P(y) times a product of P(x_i | parents, y), or a sum of such."""

    name: ClassVar[str]
    summary: ClassVar[str]

    def families(self, d: int) -> list[Family]:
        """The families whose counts the structure needs; variable d is the class."""
        return single_families(d)

    @property
    def uses_pairs(self) -> bool:
        """Whether pairs of attributes are counted, and so parents may be found."""
        return any(len(family) > 2 for family in self.families(2))

    @property
    def selection(self) -> Selection | None:
        """What is chosen by leave-one-out after counting; None where nothing is."""
        return None

    @property
    def averaging(self) -> Averaging | None:
        """How products are averaged; None where the score is a single product."""
        return None

    @abstractmethod
    def structure(self, info: Information) -> Structure:
        """The order of the attributes and their parents."""

    def options(self) -> dict[str, int | float | str]:
        """What distinguishes this learner from others of its kind, for the model's meta table."""
        return {}


def checked_loss(name: str) -> Loss:
    """The loss of that name, or an error that lists them."""
    for loss in LOSSES:
        if loss == name:
            return loss
    raise OptionError(f"--loss {name}: choose one of {', '.join(LOSSES)}")
