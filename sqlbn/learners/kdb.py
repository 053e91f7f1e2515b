"""k-dependence Bayes: each attribute depends on up to k others before it in MI order."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from sqlbn.kinds.ensemble.ensemble_kind import averaged
from sqlbn.kinds.first_pass import Decider
from sqlbn.kinds.kind import Kind, Needs
from sqlbn.kinds.product.product_kind import ProductKind
from sqlbn.learners.base import Learner
from sqlbn.learners.registry import register
from sqlbn.options.catalogue import checked
from sqlbn.search.dependence import decide_parents
from sqlbn.structure.information import Information
from sqlbn.structure.shape import Structure, k_dependence


@register
class Kdb(Learner):
    """KDB with a given k; k = 0 is naive Bayes."""

    name: ClassVar[str] = "kdb"
    summary: ClassVar[str] = (
        "k-dependence Bayes: up to k parents each, chosen by mutual information"
    )

    def __init__(self, k: int = 2, members: int = 1) -> None:
        self.k = int(checked("k", k))
        self._members = int(checked("members", members))

    @property
    def needs(self) -> Needs:
        # With k = 0 the pairs would only fill the table `cmi`, at most of the cost of the fit.
        return Needs(pairs=self.k > 0)

    def structure(self, info: Information) -> Structure:
        return k_dependence(info, self.k)

    @property
    def kind(self) -> Kind:
        return averaged(ProductKind(decide=self._decide), self._members)

    @property
    def _decide(self) -> Decider | None:
        return partial(decide_parents, self.k) if self.k else None

    def options(self) -> dict[str, Any]:
        return {"k": self.k, **({"members": self._members} if self._members > 1 else {})}
