"""The options of a search for a network, in the words that the CLI and the Python API share."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from sqlbn.errors import OptionError, opt
from sqlbn.options.catalogue import SearchKeywords, checked
from sqlbn.search.bounds import (
    BoundName,
    Rule,
    check_deltas,
    checked_bound,
)
from sqlbn.search.decisions import ArcLimits

ScoreName = Literal["bdeu", "k2", "bic"]
_SCORED = ("score", "ess")
_BOUNDED = ("bound", "delta", "delta_star", "tau", "block")


@dataclass(frozen=True)
class SearchOptions:
    """How a search scores, when it decides and what it may build; None is the usual value.

    `tau` is a share of the mean log-likelihood of the network without arcs. `delta` is the
    probability of error of one comparison, `delta_star` that of the whole search.
    """

    score: str | None = None
    ess: float | None = None
    bound: str | None = None
    delta: float | None = None
    delta_star: float | None = None
    tau: float | None = None
    block: int | None = None
    max_parameters: int = 10_000
    max_parents: int | None = None
    max_changes: int = 2

    def __post_init__(self) -> None:
        for option in fields(self):
            checked(option.name, getattr(self, option.name), SearchKeywords)
        if self.ess is not None and self.score not in (None, "bdeu"):
            raise OptionError(f"{opt('ess')} requires {opt('score', 'bdeu')}, not {self.score}")
        check_deltas(self.delta, self.delta_star)

    def check_method(self, method: str) -> None:
        """Refuse what the method would not use."""
        for names, useful in ((_SCORED, method == "hgc"), (_BOUNDED, method != "hgc")):
            for name in names:
                if getattr(self, name) is not None and not useful:
                    takers = "hgc" if name in _SCORED else "vfbn1 and vfbn2"
                    raise OptionError(
                        f"{opt(name)} does nothing for {method}; it goes with {takers}"
                    )

    @property
    def score_name(self) -> ScoreName:
        """The score of hill climbing."""
        return self.score or "bdeu"  # type: ignore[return-value]

    @property
    def equivalent_size(self) -> float:
        """Rows that the prior of BDeu is worth."""
        return 1.0 if self.ess is None else self.ess

    @property
    def block_rows(self) -> int:
        """Rows between two looks."""
        return 10_000 if self.block is None else self.block

    def rule(self, unit: float, steps: int) -> Rule:
        """When a decision is made; `unit` is what tau is a share of."""
        bound: BoundName = checked_bound(self.bound or "normal")
        tau = (0.0005 if self.tau is None else self.tau) * unit
        # Columns without any uncertainty leave nothing to decide; the bound needs some number.
        tau = max(tau, 1e-9)
        if self.delta_star is not None:
            return Rule(bound, tau, self.block_rows, None, self.delta_star, steps)
        return Rule(bound, tau, self.block_rows, 1e-9 if self.delta is None else self.delta)

    def limits(self, cards: tuple[int, ...], fixed: int) -> ArcLimits:
        """What may be built; `fixed` are the rows of a table that the class alone makes."""
        return ArcLimits(cards, fixed, self.max_parameters, self.max_parents, self.max_changes)

    def told(self) -> dict[str, Any]:
        """What was asked for, for the meta table."""
        usual = asdict(SearchOptions())
        return {key: value for key, value in asdict(self).items() if value != usual[key]}


@dataclass(frozen=True)
class Searching:
    """A search over networks, by one of the methods hgc, vfbn1 and vfbn2."""

    method: str
    options: SearchOptions = SearchOptions()

    @property
    def draws_rows(self) -> bool:
        """Whether it reads the rows in random order, as far as it needs."""
        return self.method != "hgc"
