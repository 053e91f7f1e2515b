"""An ensemble of selective KDB: members in orders that are drawn, their mean by leave-one-out."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlbn.kinds.ensemble.ensemble_kind import EnsembleKind
from sqlbn.kinds.kind import Kind
from sqlbn.kinds.product.refinements import Selective
from sqlbn.learners.base import Learner
from sqlbn.learners.registry import register
from sqlbn.learners.skdb import Skdb
from sqlbn.options.catalogue import checked


@register
class Eskdb(Skdb):
    """Selective KDB several times, each over an order of the attributes drawn by their MI."""

    name: ClassVar[str] = "eskdb"
    summary: ClassVar[str] = "ensemble of selective KDB: a mean of members in drawn orders"

    def __init__(
        self, kmax: int = 5, select: str = "both", loss: str = "rmse", members: int = 8
    ) -> None:
        super().__init__(kmax, select, loss)
        self._members = int(checked("members", members))

    @property
    def kind(self) -> Kind:
        return EnsembleKind(self._members, Selective(self._selection))

    @property
    def single(self) -> Learner:
        chosen = self._selection
        return Skdb(self.k, chosen.select, chosen.loss)

    def options(self) -> dict[str, Any]:
        return {**super().options(), "members": self._members}
