"""The options of a search for a network, in the words that the CLI and the Python API share."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from sqlbn.errors import OptionError
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
        for name in ("block", "max_parameters", "max_parents", "max_changes"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, int):
                raise OptionError(f"--{name.replace('_', '-')} {value}: give a whole number")
        if self.score is not None and self.score not in get_args(ScoreName):
            raise OptionError(f"--score {self.score}: choose bdeu, k2 or bic")
        if self.ess is not None and not 0 < self.ess < math.inf:
            raise OptionError(f"--ess {self.ess}: give a number above 0")
        if self.ess is not None and self.score not in (None, "bdeu"):
            raise OptionError(f"--ess goes with --score bdeu, not with {self.score}")
        if self.bound is not None:
            checked_bound(self.bound)
        check_deltas(self.delta, self.delta_star)
        if self.tau is not None and not 0 < self.tau < 1:
            raise OptionError(f"--tau {self.tau}: give a share between 0 and 1 (0.0005 is 0.05 %)")
        if self.block is not None and self.block < 100:
            raise OptionError(f"--block {self.block}: give at least 100 rows")
        for name in ("max_parameters", "max_changes"):
            if getattr(self, name) < 1:
                raise OptionError(f"--{name.replace('_', '-')}: give at least 1")
        if self.max_parents is not None and self.max_parents < 0:
            raise OptionError(f"--max-parents {self.max_parents}: give 0 or more")

    def check_method(self, method: str) -> None:
        """Refuse what the method would not use."""
        for names, useful in ((_SCORED, method == "hgc"), (_BOUNDED, method != "hgc")):
            for name in names:
                if getattr(self, name) is not None and not useful:
                    takers = "hgc" if name in _SCORED else "vfbn1 and vfbn2"
                    raise OptionError(
                        f"--{name.replace('_', '-')} does nothing for {method}; it goes "
                        f"with {takers}"
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
