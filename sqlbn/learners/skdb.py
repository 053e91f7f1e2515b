"""Selective KDB: attributes and k chosen by exact leave-one-out cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar, cast, get_args

from sqlbn.errors import OptionError
from sqlbn.kinds.kind import Kind, Selection
from sqlbn.kinds.product.product_kind import ProductKind
from sqlbn.kinds.product.refinements import Selective
from sqlbn.learners.base import Learner, Smooths, checked_loss
from sqlbn.learners.kdb import Kdb
from sqlbn.learners.registry import register
from sqlbn.options.catalogue import checked
from sqlbn.structure.shape import Select


@register
class Skdb(Kdb):
    """KDB with up to kmax parents, of which a third pass keeps what predicts best."""

    name: ClassVar[str] = "skdb"
    summary: ClassVar[str] = "selective KDB: attributes and k chosen by leave-one-out"
    smooths: ClassVar[Smooths | None] = None

    def __init__(self, kmax: int = 5, select: str = "both", loss: str = "rmse") -> None:
        checked("kmax", kmax)
        if select not in get_args(Select):
            raise OptionError("choose both, attributes or k", select=select)
        super().__init__(kmax)
        self._selection = Selection(
            ks=[kmax] if select == "attributes" else range(kmax + 1),
            select=cast(Select, select),
            loss=checked_loss(loss),
        )

    @property
    def kind(self) -> Kind:
        return ProductKind(Selective(self._selection), self._decide)

    def up_to(self, parents: int) -> Learner:
        return Skdb(min(self.k, parents), self._selection.select, self._selection.loss)

    def options(self) -> dict[str, Any]:
        chosen = self._selection
        return {"kmax": self.k, "select": chosen.select, "loss": chosen.loss}
