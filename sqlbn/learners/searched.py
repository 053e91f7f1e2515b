"""Learners whose parents come from a search over networks: HGC, VFBN1, VFBN2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sqlbn.kinds.kind import Kind
from sqlbn.kinds.product.product_kind import SearchedProduct
from sqlbn.learners.base import Learner, Smooths
from sqlbn.learners.registry import register
from sqlbn.options.catalogue import SearchKeywords, check_known
from sqlbn.search.search_options import Searching, SearchOptions


class _Network(Learner):
    """P(y) times P(x | parents, y), with parents that a search has found."""

    has_backoff: ClassVar[bool] = False
    smooths: ClassVar[Smooths] = Smooths()

    def __init__(self, search: Mapping[str, Any] | SearchOptions | None = None) -> None:
        if not isinstance(search, SearchOptions):
            search = _search_options(search or {})
        search.check_method(self.name)
        self.search = search

    @property
    def kind(self) -> Kind:
        return SearchedProduct(searching=Searching(self.name, self.search))

    def options(self) -> dict[str, Any]:
        told = self.search.told()
        return {"search": told} if told else {}


def _search_options(given: Mapping[str, Any]) -> SearchOptions:
    check_known(given, SearchKeywords)
    return SearchOptions(**given)


@register
class Hgc(_Network):
    """Hill climbing on a score of all rows."""

    name: ClassVar[str] = "hgc"
    summary: ClassVar[str] = "a network by hill climbing on a score of all rows"


@register
class Vfbn1(_Network):
    """Hill climbing whose steps are decided by a bound."""

    name: ClassVar[str] = "vfbn1"
    summary: ClassVar[str] = "a network by hill climbing, each step from as few rows as it needs"


@register
class Vfbn2(_Network):
    """A search for every variable, decided by a bound."""

    name: ClassVar[str] = "vfbn2"
    summary: ClassVar[str] = "a network by one search a variable, from as few rows as it needs"
