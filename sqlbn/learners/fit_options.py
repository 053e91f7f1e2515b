"""The options of a fit with their values: checked against each other and against the learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, cast, get_args

from sqlbn.data import Source
from sqlbn.data.no_target import NO_CLASS
from sqlbn.encoding.learn_codebooks import (
    AUTO,
    DEFAULT_BINS,
    Discretisation,
    candidates,
    checked_method,
)
from sqlbn.encoding.profile import Choices
from sqlbn.engines.limits import Limits
from sqlbn.errors import OptionError, command, opt
from sqlbn.kinds.estimates import (
    Rule as Smooth,
)
from sqlbn.kinds.estimates import (
    Smoothing,
    Unseen,
    checked_backoff,
    checked_estimate,
    checked_missing,
    checked_unseen,
)
from sqlbn.kinds.kind import Weighting
from sqlbn.learners.base import Learner, Smooths
from sqlbn.learners.long_options import check_long
from sqlbn.learners.registry import (
    learner_options,
    learners,
    make_learner,
    own_options,
    smoothed_learners,
)
from sqlbn.options.catalogue import (
    DEFAULT_EFFORT,
    DEFAULT_LEARNER,
    EFFORT_MEMBERS,
    ENSEMBLE_LEARNER,
    LONG_LEARNER,
    RowKeywords,
    checked,
    fit_options_known,
    names_of,
)
from sqlbn.options.lists import as_list, names_in, possible_names
from sqlbn.options.option import unknown
from sqlbn.options.user_values import check_text, check_whole
from sqlbn.search.bounds import Rule, given_rule
from sqlbn.search.race import RaceRule

# Which rows of the data are meant, and how they are read.
ROWS = names_of(RowKeywords)


@dataclass(frozen=True)
class FitOptions:
    """What to learn and from which columns.

    `learner_options` are the arguments of the learner's `__init__`; the rest is the same for all.
    """

    target: str
    learner: str = DEFAULT_LEARNER
    learner_options: Mapping[str, Any] = field(default_factory=dict)
    estimate: str | None = None
    missing: str | None = None
    unseen: str | None = None
    loocv_sample: int | None = None
    race: str | None = None
    structure_sample: int | None = None
    bound: str | None = None
    delta: float | None = None
    delta_star: float | None = None
    tau: float | None = None
    block: int | None = None
    m: float = 1.0
    backoff: str = "cell"
    smoothing: str | None = None
    weights: str | None = None
    effort: str | None = None
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
    long: tuple[str, ...] = ()
    labels: str | object | None = None
    features: int | None = None

    def __post_init__(self) -> None:
        for option in OWN:
            checked(option, getattr(self, option))
        check_long(self)
        self._check_encoding()
        if self.weight is not None and self.weight == self.target:
            raise OptionError("that is the target", weight=self.weight)
        if self.weight_kind is not None and self.weight is None:
            raise OptionError(f"{opt('weight_kind')} requires {opt('weight')}")
        both = set(names_in(self.categorical)) & set(names_in(self.numeric))
        if both:
            raise OptionError(
                f"{sorted(both)[0]!r} cannot be both {opt('categorical')} and {opt('numeric')}"
            )
        self._check_learner(self.make_learner())

    def _check_learner(self, learner: Learner) -> None:
        """Refuse what this learner has no use for."""
        kind = learner.kind
        if self.target == NO_CLASS:
            self._check_no_target(learner)
        if self.race is not None and "race" in kind.options and not self._selects:
            raise OptionError(
                f"{opt('race', self.race)} does nothing for weighed members, which select nothing; "
                f"leave it out, or give {opt('weights', 'none')}"
            )
        for option, useful in (
            ("loocv_sample", "loocv_sample" in kind.options),
            ("race", self._selects),
            ("structure_sample", "structure_sample" in kind.options and learner.needs.pairs),
        ):
            if getattr(self, option) is not None and not useful:
                raise self._useless(option)
        if "weight" not in kind.options and self.weight is not None:
            raise OptionError(
                f"{opt('weight')} is not for the learner {self.learner}: its bounds are about rows "
                "that count alike"
            )
        self._check_bound(learner)
        backs_off = learner.has_backoff and "backoff" in kind.options
        if not backs_off and self.backoff != "cell":
            raise self._useless("backoff")
        self._check_smoothing(learner)
        self._check_levels(learner)

    def _check_levels(self, learner: Learner) -> None:
        """Refuse mixed levels and weights where there is no product, or nothing to fit them by."""
        for option in ("smoothing", "weights"):
            asked = getattr(self, option)
            if asked is None:
                continue
            if option not in learner.kind.options:
                raise OptionError(
                    f"{opt(option)} is for products (nb, tan, kdb, skdb, fan, networks) and eskdb, "
                    f"not for the learner {self.learner}; {own_options(self.learner)}"
                )
            if asked not in ("none", "backoff", "hierarchical") and not (
                learner.kind.has_loo(self.smoothings[-1]) and self.target != NO_CLASS
            ):
                raise OptionError(
                    f"{opt(option, asked)} needs leave-one-out: a target, m-estimates, missing "
                    "values as values, and back-off"
                )
        rules = self.smoothings[-1]
        if self.backoff != "cell" and (rules.is_hierarchical or self.weightings != ("none",)):
            chosen = "weights" if not rules.is_hierarchical else "smoothing"
            raise OptionError(
                f"{opt(chosen, getattr(self, chosen))} requires {opt('backoff', 'cell')}, "
                f"not {self.backoff}"
            )

    def _useless(self, option: str) -> OptionError:
        """The error for an option of all learners that does nothing for this one."""
        return OptionError(
            f"{opt(option)} does nothing for the learner {self.learner}; "
            f"{own_options(self.learner)}"
        )

    def _check_no_target(self, learner: Learner) -> None:
        """Refuse what needs a class where there is none."""
        if learner.kind.needs_target:
            raise OptionError(f"the learner {self.learner} needs a target; give {opt('target')}")
        if self.rules.is_neutral:
            raise OptionError(
                f"{opt('unseen', 'neutral')} is about a class; use smoothed without a target"
            )
        if self.method != "ef":
            raise OptionError(
                f"{opt('discretise', self.method)} needs a target; use ef without one"
            )

    def _check_bound(self, learner: Learner) -> None:
        """Refuse a bound that cannot be kept, or that nothing is decided by."""
        if self.rule is None:
            return
        if "bound" not in learner.kind.options:
            raise OptionError(
                f"{opt('bound')} does nothing for the learner {self.learner}; it goes with tan, "
                "kdb and "
                f"skdb that have parents to find, and with {command('network learn')}"
            )
        if self.structure_sample is not None:
            raise OptionError(
                f"{opt('bound')} finds how many rows it needs: leave {opt('structure_sample')} out"
            )
        if self.weight is not None:
            raise OptionError(
                f"{opt('bound')} counts rows, each for one: leave {opt('weight')} out, or use "
                f"{opt('structure_sample')}"
            )

    @cached_property
    def rule(self) -> Rule | None:
        """When a decision of the structure pass counts as made; None where all rows are counted."""
        tau = None if self.bound is None and self.races else self.tau
        return given_rule(self.bound, self.delta, self.delta_star, tau, self.block)

    @property
    def races(self) -> bool:
        """Whether nested models race."""
        return self.race != "off" and self._selects

    @property
    def _selects(self) -> bool:
        """Whether there are nested models to choose among: weighed members select nothing."""
        kind = self.make_learner().kind
        return "race" in kind.options and not (kind.recuts and self.weightings != ("none",))

    @cached_property
    def race_rule(self) -> RaceRule | None:
        """When a nested model is out; None where all are evaluated on all rows.

        With a bound on the structure tau is one of information, not of losses.
        """
        return RaceRule(0.0 if self.bound is not None else self.tau or 0.0) if self.races else None

    def _check_encoding(self) -> None:
        """Refuse a way of cutting columns that is not known or cannot be chosen."""
        checked_method(self.method, self.bins)
        if self.encodings and self.method != AUTO:
            raise OptionError(f"{opt('encodings')} requires {opt('discretise', 'auto')}")
        if self.method != AUTO:
            return
        candidates(self.encodings)
        if not self.make_learner().kind.has_loo(self.rules):
            raise OptionError(
                f"{opt('discretise', 'auto')} needs leave-one-out: it goes with nb, tan, kdb, "
                "skdb and ande, "
                "with m-estimates and missing values as values"
            )

    @cached_property
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
                    f"{opt(option)} is not for the learner {self.learner}; it goes with {takers}; "
                    f"{own_options(self.learner)}"
                )
        smoothing = self.rules
        if smoothing.estimate == "laplace" and self.m != 1.0:
            raise OptionError(
                f"{opt('m', self.m)} does nothing with Laplace estimates; use "
                f"{opt('estimate', 'm')} with it"
            )
        if smoothing.ignores and self.backoff != "cell":
            raise OptionError(
                f"{opt('missing', 'ignore')} requires {opt('backoff', 'cell')}, not {self.backoff}"
            )

    def plan(self) -> list[str]:
        """What a fit with these options will try and choose, a line each."""
        learner = self.make_learner()
        said = ", ".join(f"{key} {value}" for key, value in learner.options().items())
        lines = [f"learner: {learner.name}" + (f" ({said})" if said else "")]
        if self.method == AUTO:
            tried = ", ".join(map(str, candidates(self.encodings)))
            lines.append(f"encoding: the best of {tried}, by rows that did not make the cuts")
        else:
            lines.append(f"encoding: {self.discretisation}")
        if self.smoothing not in (None, AUTO):
            lines.append(f"smoothing: {self.smoothing}")
        elif len(self.smoothings) > 1:
            rules = " or ".join(s.rule for s in self.smoothings)
            lines.append(f"smoothing: {rules}, by leave-one-out")
        if len(self.weightings) == 1 and self.weights is not None:
            lines.append(f"weights: {self.weights}")
        elif self.weightings != ("none",):
            # Several members are always weighed.
            asked = ", ".join(w for w in self.weightings if w != "none" or not learner.kind.recuts)
            lines.append(f"weights: {asked}, by rows that they are not fitted on")
        if learner.kind.recuts:
            n = learner.kind.recuts + 1
            may_be_fewer = len(self.weightings) > 1 and n >= 2 * Limits.members_least
            lines.append(
                f"members: {n}{' at most' if may_be_fewer else ''}, with cut points, orders and "
                "parents of their own, drawn by the seed"
            )
        if learner.kind.selection is not None and not (
            learner.kind.recuts and self.weightings != ("none",)
        ):
            rows = f" of {self.loocv_sample:,} rows at most" if self.loocv_sample else ""
            racing = ", in a race" if self.races else ""
            lines.append(f"attributes and parents: by leave-one-out{rows}{racing}")
        return lines

    def as_single(self) -> FitOptions:
        """The same where there are too few rows to choose by: one plain model."""
        single = self.make_learner().single
        learner, own = single.name, single.options()
        return replace(
            self, learner=learner, learner_options=own, smoothing=None, weights=None, encodings=()
        )

    def make_learner(self) -> Learner:
        """The learner these options ask for."""
        return self._made

    @cached_property
    def _made(self) -> Learner:
        return make_learner(self.learner, **self.learner_options)

    @cached_property
    def loss(self) -> str | None:
        """The loss that a selection goes by, where one was given."""
        return self.learner_options.get("loss")

    @cached_property
    def stored(self) -> dict[str, Any]:
        """`meta.options` of a model: what its learner and its encoding were told."""
        return {**self.make_learner().options(), **self.discretisation.options()}

    @cached_property
    def draws_rows(self) -> bool:
        """Whether rows must be numbered: to draw from them, or to tell them apart."""
        asked = (self.loocv_sample, self.structure_sample, self.rule)
        by_kind = self.make_learner().kind.numbers_rows(with_loss=False)
        return by_kind or self.weightings != ("none",) or any(x is not None for x in asked)

    @cached_property
    def rules(self) -> Smoothing:
        """How counts become probabilities, the first of those that are tried."""
        return self.smoothings[0]

    @cached_property
    def smoothings(self) -> tuple[Smoothing, ...]:
        """Among which leave-one-out chooses."""
        if self.smoothing is None:
            return (self._backed_off,)
        if self.smoothing != AUTO:
            return (self._backed_off.ruled(cast(Smooth, self.smoothing)),)
        return tuple(self._backed_off.ruled(rule) for rule in get_args(Smooth))

    @cached_property
    def weightings(self) -> tuple[Weighting, ...]:
        """What of a product may get weights."""
        if self.weights == AUTO:
            return ("none", "attributes", "levels")
        return (cast(Weighting, self.weights or "none"),)

    @cached_property
    def _backed_off(self) -> Smoothing:
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

    @cached_property
    def discretisation(self) -> Discretisation:
        """How columns become parts."""
        bins = DEFAULT_BINS if self.bins is None else self.bins
        return Discretisation(self.method, bins, self.make_learner().kind.recuts)

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
        chosen = {source.column(c, opt("columns")) for c in asked} or set(source.columns)
        left_out = {
            source.column(c, f"{opt('exclude')} column") for c in self.named("exclude", source)
        }
        special = {source.column(self.target, "the target")}
        if self.weight is not None:
            special.add(source.column(self.weight, "the weight"))
        named = {c for c in chosen if c in special} & set(asked)
        if named:
            raise OptionError(
                f"{opt('columns')} names {sorted(named)[0]!r}, the target or the weight"
            )
        found = [c for c in source.columns if c in chosen - left_out - special]
        for option in ("categorical", "numeric", "keep"):
            for name in self.named(option, source):
                if source.column(name, f"{opt(option)} column") not in found:
                    raise OptionError("the column is not used as an attribute", **{option: name})
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
            raise unknown(key, ROWS)
    return options


OWN = tuple(
    f.name for f in fields(FitOptions) if f.name not in ("target", "learner", "learner_options")
)


def fit_options(
    target: str, options: Mapping[str, Any], learner: str | Learner | None = None
) -> FitOptions:
    """Options from keywords; an unknown one is an error that lists the valid."""
    known = fit_options_known()
    for key in options:
        if key not in known:
            raise unknown(key, sorted(known))
    if not isinstance(options.get("weight"), str | None):
        raise OptionError(f"{opt('weight')} is the name of a column: put the weights into the data")
    # False is what a learner does anyway.
    given = {key: value for key, value in options.items() if value is not None}
    own = {
        key: value
        for key, value in given.items()
        if key in learner_options() and value is not False
    }
    if isinstance(learner, Learner):
        learner, own = _of_object(learner, own)
    for key, value in {**given, **own}.items():
        if isinstance(value, int):
            check_whole(key, value)
        elif isinstance(value, str):
            check_text(key, value)
    if learner is None and given.get("long") and "k" not in own and "effort" not in given:
        learner = LONG_LEARNER
    if learner is None and "k" in own:
        learner = "kdb"  # `k` implies `kdb`
    elif learner is None and own.keys() - {"members"} and "effort" not in given:
        # Its options imply `skdb`, or the ensemble of it.
        learner = ENSEMBLE_LEARNER if "members" in own else DEFAULT_LEARNER
    if learner is not None and "effort" in given:
        raise OptionError(
            f"{opt('effort', given['effort'])} chooses a learner: leave it or the learner out"
        )
    if learner is None:
        chosen = _of_effort(given)
        learner = DEFAULT_LEARNER
        if chosen["effort"] == "best" or ("weights" in chosen and "bound" not in given):
            learner = ENSEMBLE_LEARNER
            own = {"members": EFFORT_MEMBERS[chosen["effort"]], **own}
        given = {**chosen, **given}
    others: dict[str, Any] = {
        key: as_list(value) if known[key].is_list else value
        for key, value in given.items()
        if key not in learner_options()
    }
    return FitOptions(target=target, learner=learner, learner_options=own, **others)


def _of_effort(given: Mapping[str, Any]) -> dict[str, Any]:
    """What an effort chooses of the options that were not given."""
    effort = checked("effort", given.get("effort", DEFAULT_EFFORT))
    if effort == "quick":
        return {"effort": effort}
    chosen = {"effort": effort, "loocv_sample": Limits.effort_rows}
    if "discretise" not in given and "bins" not in given:
        chosen["discretise"] = AUTO
    if given.get("backoff", "cell") == "cell":
        chosen |= {"smoothing": AUTO, "weights": AUTO}
    return chosen


def _of_object(learner: Learner, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and the options of a learner that the caller has made."""
    if learners().get(learner.name) is not type(learner):
        raise OptionError(
            f"the class {type(learner).__name__} is not a registered learner; "
            "put @sqlbn.register before it"
        )
    if given:
        raise OptionError(
            f"{opt(next(iter(given)))} belongs to the learner: write it into {learner!r}"
        )
    return learner.name, learner.given


def stored_options(
    target: str, learner: str, stored: Mapping[str, Any], **others: Any
) -> FitOptions:
    """The options of the fit that a model comes from, by its `meta.options` and other entries."""
    own = {
        key: value
        for key, value in stored.items()
        if key not in ("bins", "discretise") and value is not False
    }
    cuts = {key: stored[key] for key in ("bins", "discretise") if key in stored}
    return FitOptions(target=target, learner=learner, learner_options=own, **cuts, **others)
