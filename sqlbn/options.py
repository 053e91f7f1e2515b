"""The options of a fit, in the words that the CLI and the Python API share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sqlbn.data import Source
from sqlbn.data.no_target import NO_CLASS
from sqlbn.encoding.learn_codebooks import (
    AUTO,
    DEFAULT_BINS,
    Discretisation,
    candidates,
    checked_method,
)
from sqlbn.encoding.profile import Choices, checked_kind
from sqlbn.errors import OptionError
from sqlbn.kinds.estimates import (
    Smoothing,
    Unseen,
    checked_backoff,
    checked_estimate,
    checked_missing,
    checked_unseen,
)
from sqlbn.learners import Learner, make_learner
from sqlbn.learners.base import Smooths
from sqlbn.learners.registry import smoothed_learners, switch
from sqlbn.limits import check_text, check_whole
from sqlbn.lists import as_list, names_in, possible_names
from sqlbn.search.bounds import Rule, given_rule

DEFAULT_LEARNER = "skdb"
# Options that take several names.
LISTS = ("columns", "exclude", "categorical", "numeric", "keep", "encodings")
# Which rows of the data are meant, and how they are read.
ROWS = ("where", "table", "query", "encoding", "trust_sql")


@dataclass(frozen=True)
class FitOptions:
    """What to learn and from which columns."""

    target: str
    learner: str = DEFAULT_LEARNER
    k: int | None = None
    kmax: int | None = None
    select: str | None = None
    loss: str | None = None
    n: int | None = None
    subsumption: bool | None = None
    weighted: bool | None = None
    min_count: int | None = None
    attributes: int | None = None
    score: str | None = None
    superparent: str | None = None
    order: str | None = None
    parents_from_first: int | None = None
    parents: Mapping[str, Any] | None = None
    map: bool | None = None
    search: Mapping[str, Any] | None = None
    estimate: str | None = None
    missing: str | None = None
    unseen: str | None = None
    loocv_sample: int | None = None
    structure_sample: int | None = None
    bound: str | None = None
    delta: float | None = None
    delta_star: float | None = None
    tau: float | None = None
    block: int | None = None
    m: float = 1.0
    backoff: str = "cell"
    discretise: str | None = None
    encodings: tuple[str, ...] = ()
    bins: int | None = None
    weight: str | None = None
    weight_kind: str | None = None
    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    where: str | None = None
    table: str | None = None
    query: str | None = None
    encoding: str | None = None
    trust_sql: bool = False

    def __post_init__(self) -> None:
        if not 1e-300 < self.m < math.inf:
            raise OptionError(f"--m {self.m}: give a number above 0")
        checked_backoff(self.backoff)
        self._check_encoding()
        if self.bins is not None and self.bins < 2:
            raise OptionError(f"--bins {self.bins}: give at least 2")
        if self.weight is not None and self.weight == self.target:
            raise OptionError(f"--weight {self.weight}: that is the target")
        if self.weight_kind is not None:
            checked_kind(self.weight_kind)
            if self.weight is None:
                raise OptionError("--weight-kind requires --weight")
        both = set(names_in(self.categorical)) & set(names_in(self.numeric))
        if both:
            raise OptionError(f"{sorted(both)[0]!r} cannot be both --categorical and --numeric")
        learner = self.make_learner()
        if self.target == NO_CLASS:
            self._check_classless(learner)
        for option, useful in (
            ("loocv_sample", learner.selection is not None),
            ("structure_sample", learner.uses_pairs and learner.collecting is None),
        ):
            size = getattr(self, option)
            if size is not None and size < 1:
                raise OptionError(f"{switch(option)} {size}: give at least 1 row")
            if size is not None and not useful:
                raise OptionError(f"{switch(option)} does nothing for the learner {self.learner}")
        if learner.searching is not None and self.weight is not None:
            raise OptionError(
                f"--weight is not for the learner {self.learner}: its bounds are about rows that "
                "count alike"
            )
        self._check_bound(learner)
        backs_off = learner.has_backoff and learner.averaging is None
        if not backs_off and self.backoff != "cell":
            raise OptionError(f"--backoff does nothing for the learner {self.learner}")
        self._check_smoothing(learner)

    def _check_classless(self, learner: Learner) -> None:
        """Refuse what needs a class where there is none."""
        if learner.searching is None:
            raise OptionError(f"the learner {self.learner} needs a target; give --target")
        if self.smoothing.is_neutral:
            raise OptionError("--unseen neutral is about a class; use smoothed without a target")
        if self.method != "ef":
            raise OptionError(f"--discretise {self.method} needs a target; use ef without one")

    def _check_bound(self, learner: Learner) -> None:
        """Refuse a bound that cannot be kept, or that nothing is decided by."""
        if self.rule is None:
            return
        if learner.decider is None:
            raise OptionError(
                f"--bound does nothing for the learner {self.learner}; it goes with tan, kdb and "
                "skdb that have parents to find, and with `sqlbn network learn`"
            )
        if self.structure_sample is not None:
            raise OptionError("--bound finds how many rows it needs: leave --structure-sample out")
        if self.weight is not None:
            raise OptionError(
                "--bound counts rows, each for one: leave --weight out, or use --structure-sample"
            )

    @property
    def rule(self) -> Rule | None:
        """When a decision of the structure pass counts as made; None where all rows are counted."""
        return given_rule(self.bound, self.delta, self.delta_star, self.tau, self.block)

    def _check_encoding(self) -> None:
        """Refuse a way of cutting columns that is not known or cannot be chosen."""
        checked_method(self.method, self.bins)
        if self.encodings and self.method != AUTO:
            raise OptionError("--encodings goes with --discretise auto")
        if self.method != AUTO:
            return
        candidates(self.encodings)
        learner, smoothing = self.make_learner(), self.smoothing
        known = learner.has_leave_one_out and smoothing.estimate == "m" and not smoothing.ignores
        if not known:
            raise OptionError(
                "--discretise auto needs leave-one-out: it goes with nb, tan, kdb, skdb and ande, "
                "with m-estimates and missing values as values"
            )

    @property
    def method(self) -> str:
        """How columns become parts: as asked, or as the learner is used to."""
        return self.discretise if self.discretise is not None else self._usual_method

    @property
    def _usual_method(self) -> str:
        # Whoever gives a number of intervals wants so many.
        return self.make_learner().discretises if self.bins is None else "ef"

    def _check_smoothing(self, learner: Learner) -> None:
        """Refuse an estimate or a policy for missing values that this learner cannot have."""
        for option in ("estimate", "missing"):
            if getattr(self, option) is not None and learner.smooths is None:
                takers = ", ".join(smoothed_learners())
                raise OptionError(
                    f"{switch(option)} is not for the learner {self.learner}; it goes with {takers}"
                )
        smoothing = self.smoothing
        if smoothing.estimate == "laplace" and self.m != 1.0:
            raise OptionError(
                f"--m {self.m} does nothing with Laplace estimates; use --estimate m with it"
            )
        if smoothing.ignores and self.backoff != "cell":
            raise OptionError(f"--missing ignore requires --backoff cell, not {self.backoff}")

    def make_learner(self) -> Learner:
        """The learner these options ask for."""
        return make_learner(
            self.learner,
            k=self.k,
            kmax=self.kmax,
            select=self.select,
            loss=self.loss,
            n=self.n,
            # False is what a learner does anyway.
            subsumption=self.subsumption or None,
            weighted=self.weighted or None,
            min_count=self.min_count,
            attributes=self.attributes,
            score=self.score,
            superparent=self.superparent,
            order=self.order,
            parents_from_first=self.parents_from_first,
            parents=self.parents,
            map=self.map or None,
            search=self.search,
        )

    @property
    def draws_rows(self) -> bool:
        """Whether rows must be numbered: to draw from them, or to tell them apart."""
        learner = self.make_learner()
        by_stream = learner.searching is not None and learner.searching.method != "hgc"
        by_row = learner.averaging is not None and learner.selection is not None
        asked = (self.loocv_sample, self.structure_sample, self.rule)
        return by_stream or by_row or any(x is not None for x in asked)

    @property
    def smoothing(self) -> Smoothing:
        """How counts become probabilities."""
        learner = self.make_learner()
        usual = learner.smooths or Smooths()
        return Smoothing(
            float(self.m),
            checked_backoff(self.backoff) if learner.has_backoff else "none",
            checked_estimate(self.estimate) if self.estimate is not None else usual.estimate,
            checked_missing(self.missing) if self.missing is not None else usual.missing,
            checked_unseen(self.unseen) if self.unseen is not None else self._usual_unseen,
        )

    @property
    def _usual_unseen(self) -> Unseen:
        # Without a class there is none to favour; rows with unseen values have a likelihood.
        return "neutral" if self.target != NO_CLASS else "smoothed"

    @property
    def discretisation(self) -> Discretisation:
        """How columns become parts."""
        return Discretisation(self.method, DEFAULT_BINS if self.bins is None else self.bins)

    def uses(self, name: str) -> bool:
        """Whether a column matters to this fit."""
        if name in (self.target, self.weight):
            return True
        if name in possible_names(self.exclude):
            return False
        return not self.columns or name in possible_names(self.columns)

    def named(self, option: str, source: Source) -> list[str]:
        """The columns that a list option names."""
        return names_in(getattr(self, option), source.has)

    def candidates(self, source: Source) -> list[str]:
        """The columns of a source that may be attributes, in its order; names are checked."""
        asked = self.named("columns", source)
        chosen = {source.column(c, "--columns") for c in asked} or set(source.columns)
        left_out = {source.column(c, "--exclude column") for c in self.named("exclude", source)}
        special = {source.column(self.target, "the target")}
        if self.weight is not None:
            special.add(source.column(self.weight, "the weight"))
        named = {c for c in chosen if c in special} & set(asked)
        if named:
            raise OptionError(f"--columns names {sorted(named)[0]!r}, the target or the weight")
        found = [c for c in source.columns if c in chosen - left_out - special]
        for option in ("categorical", "numeric", "keep"):
            for name in self.named(option, source):
                if source.column(name, f"--{option} column") not in found:
                    raise OptionError(f"--{option} {name}: the column is not used as an attribute")
        return found

    def columns_of(self, source: Source) -> list[str]:
        """Target, attributes and weight, as the source spells them."""
        names = [source.column(self.target, "the target"), *self.candidates(source)]
        if self.weight is not None:
            names.append(source.column(self.weight, "the weight"))
        return names

    def of_used_columns(self) -> FitOptions:
        """The same for a source that has only the columns that are used."""
        return replace(self, columns=(), exclude=())

    def choices(self, source: Source) -> Choices:
        """What the user says about kinds of columns, in the source's spelling."""

        def spelled(option: str) -> frozenset[str]:
            return frozenset(source.column(n) for n in self.named(option, source))

        return Choices(spelled("categorical"), spelled("numeric"), spelled("keep"))


def checked_rows(options: dict[str, Any]) -> dict[str, Any]:
    """Keywords that say which rows of the data are meant; any other is an error."""
    for key in options:
        if key not in ROWS:
            raise OptionError(f"there is no option {key!r} here; there is {', '.join(ROWS)}")
    return options


def fit_options(target: str, options: dict[str, Any]) -> FitOptions:
    """Options from keywords; an unknown one is an error that names the known."""
    known = {f.name for f in fields(FitOptions)}
    for key in options:
        if key not in known:
            raise OptionError(f"there is no option {key!r}; there is {', '.join(sorted(known))}")
    if not isinstance(options.get("weight"), str | None):
        raise OptionError("--weight is the name of a column: put the weights into the data")
    for key, value in options.items():
        if isinstance(value, int):
            check_whole(key, value)
        elif isinstance(value, str):
            check_text(key, value)
    if options.get("learner") is None:
        # Whoever gives k has chosen the learner that takes it.
        options = {**options, "learner": "kdb" if options.get("k") is not None else DEFAULT_LEARNER}
    cleaned: dict[str, Any] = {
        key: as_list(value) if key in LISTS else value
        for key, value in options.items()
        if value is not None
    }
    return FitOptions(target=target, **cleaned)
