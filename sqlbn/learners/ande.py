"""Averaged n-dependence estimators: every set of n attributes is the parents of all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sqlbn.errors import OptionError, opt
from sqlbn.kinds.average.average_fit import Averaging
from sqlbn.kinds.average.average_kind import AverageKind
from sqlbn.kinds.kind import Kind, Selection
from sqlbn.learners.base import Learner, Smooths, checked_loss
from sqlbn.learners.registry import register
from sqlbn.options.catalogue import checked

MIN_COUNT = 100

# The names that the paper gives to the variants.
_VARIANTS: dict[str, dict[str, int | bool]] = {
    f"a{n}de{suffix}": {"n": n, **dict.fromkeys(flags, True)}
    for n in (1, 2)
    for suffix, flags in {
        "": (),
        "-s": ("subsumption",),
        "-w": ("weighted",),
        "-sw": ("subsumption", "weighted"),
    }.items()
}


@register
class Ande(Learner):
    """The mean of all models in which the same n attributes are parents of all others."""

    name: ClassVar[str] = "ande"
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = _VARIANTS
    summary: ClassVar[str] = "averaged n-dependence estimators (a1de, a2de): no structure search"
    smooths: ClassVar[Smooths | None] = None

    def __init__(
        self,
        n: int = 1,
        subsumption: bool = False,
        weighted: bool = False,
        min_count: int | None = None,
        attributes: int | None = None,
        select: str | None = None,
        loss: str | None = None,
    ) -> None:
        if n not in (1, 2):
            raise OptionError("choose 1 or 2", n=n)
        if min_count is not None and not subsumption:
            raise OptionError(f"{opt('min_count')} requires {opt('subsumption', True)}")
        checked("min_count", min_count)
        checked("attributes", attributes)
        if select not in (None, "attributes"):
            raise OptionError("ande can choose attributes, and nothing else", select=select)
        if loss is not None and select is None:
            raise OptionError(f"{opt('loss')} requires {opt('select', 'attributes')}")
        threshold = MIN_COUNT if min_count is None else min_count
        self._averaging = Averaging(n, weighted, threshold if subsumption else None, attributes)
        self._selection = (
            Selection((n,), "attributes", checked_loss(loss or "rmse")) if select else None
        )

    @property
    def kind(self) -> Kind:
        return AverageKind(self._averaging, self._selection)

    def options(self) -> dict[str, Any]:
        found: dict[str, Any] = {"n": self._averaging.n}
        found["weighted"] = self._averaging.weighted
        found["subsumption"] = self._averaging.min_count is not None
        if self._averaging.min_count is not None:
            found["min_count"] = self._averaging.min_count
        if self._averaging.attributes is not None:
            found["attributes"] = self._averaging.attributes
        if self._selection is not None:
            found |= {"select": self._selection.select, "loss": self._selection.loss}
        return found
