"""What a kind of model is: the protocol that product, average and collection implement in full.

A learner answers which counts its structure needs (`needs`), what structure they give
(`structure`) and how a row is scored: its `kind`, with parameters. The kind does the rest. A `Kind`
makes models and derives them again from changed counts; a `Fitting` is one fit, step by step; a
`Scoring` is what the tables of a stored model say of its kind: SQL, export.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from sqlbn.counts.counter import block_statement
from sqlbn.counts.cover import Block, Family
from sqlbn.counts.families import FamilyCounts
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.preparing import Prepared
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import Encoded, Source
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import opt
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.losses import Loss
from sqlbn.search.bounds import Rule
from sqlbn.search.race import RaceRule
from sqlbn.structure.information import (
    Information,
    bare_pair_families,
    pair_families,
    single_families,
)
from sqlbn.structure.shape import Score, Select, Shape, Structure

if TYPE_CHECKING:
    from sqlbn.kinds.compiler import Scorer

# What of a product gets weights.
Weighting = Literal["none", "attributes", "levels"]
# A statement with its title.
Titled = tuple[str, str]
Covered = Callable[[Family], bool]


@dataclass(frozen=True)
class Needs:
    """Which counts a structure is found from, besides those of every attribute with the class.

    `pairs` with the class, for CMI; `bare_pairs` without it, too, for what one attribute adds to
    another (`gain`); `score` is that of networks whose gains are wanted.
    """

    pairs: bool = False
    bare_pairs: bool = False
    score: Score | None = None

    def families(self, d: int) -> list[Family]:
        """The sets of variables to count; variable d is the class."""
        pairs = pair_families(d) if self.pairs else []
        bare = bare_pair_families(d) if self.bare_pairs else []
        return [*single_families(d), *pairs, *bare]


class StructureLearner(Protocol):
    """What a kind asks its learner: which counts, and what structure they give."""

    @property
    def needs(self) -> Needs:
        """Which counts."""

    def structure(self, info: Information) -> Structure:
        """The order of the attributes and their parents."""

    def chosen(self, info: Information, structure: Structure) -> dict[str, Any]:
        """What is worth noting of a structure in the model's meta table."""


@dataclass(frozen=True)
class Selection:
    """Which nested models are tried by leave-one-out, and by which loss one is kept."""

    ks: Sequence[int]
    select: Select
    loss: Loss = "rmse"

    def within(self, depth: int, limits: Limits) -> Selection:
        """The same without numbers of parents that no attribute has: each would cost a pass.

        A few are kept: who asks for them finds them in the table.
        """
        most = max(depth, limits.loo_tried_parents)
        if self.ks[-1] <= most:
            return self
        return replace(self, ks=list(self.ks[: most + 1]) if self.ks[0] == 0 else [most])


@dataclass(frozen=True)
class Job:
    """What a fit works on; `shape` is that of a model to follow, if there is one.

    The samples are those of leave-one-out and of the structure (None: all rows), `rule` says when
    a decision of the structure counts as made (None: all rows are counted), `race` when a nested
    model is out (None: all are evaluated on all rows). Of a trial only the loss matters.
    `smoothings` are those among which leave-one-out chooses, `weightings` what of a product may get
    weights.
    """

    workspace: Workspace
    encoded: Encoded
    prepared: Prepared
    learner: StructureLearner
    smoothing: Smoothing
    progress: Progress
    shape: Shape | None = None
    loocv_sample: int | None = None
    structure_sample: int | None = None
    rule: Rule | None = None
    is_trial: bool = False
    smoothings: tuple[Smoothing, ...] = ()
    weightings: tuple[Weighting, ...] = ("none",)
    race: RaceRule | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes."""
        return tuple(book.name for book in self.prepared.books)


class Fitting(ABC):
    """One fit, step by step; `chosen` is what it notes in the meta table.

    `parents` is how many an attribute may have where leave-one-out has chosen that.
    """

    parents: int | None = None

    def __init__(self, job: Job) -> None:
        self.job = job
        self.chosen: dict[str, Any] = {}

    @abstractmethod
    def count(self) -> None:
        """The counts that tell the structure."""

    @abstractmethod
    def structure(self) -> None:
        """Parents, super-parents or parent sets, and what of them is kept."""

    @abstractmethod
    def parameters(self) -> None:
        """The tables of the model: probabilities, and what says what it is."""

    def loo_loss(self, loss: Loss) -> float:
        """The loss by leave-one-out, while the rows are there; asked where the kind `has_loo`."""
        raise AssertionError("a model without leave-one-out")

    def crossed_losses(self, others: Encoded) -> tuple[float, float]:
        """The RMSE by leave-one-out and on other rows; asked where the kind `tries_in_arrays`."""
        raise AssertionError("a model that is not tried in arrays")


@dataclass(frozen=True)
class Outline:
    """A model as far as it outlives a change: its learner, rules and shape.

    `has_pairs`: whether counts of pairs of attributes are stored.
    """

    learner: StructureLearner
    smoothing: Smoothing
    names: tuple[str, ...]
    shape: Shape
    has_pairs: bool
    weightings: tuple[Weighting, ...] = ("none",)


@dataclass(frozen=True)
class Rederived:
    """The shape of a changed model, and what could not be found again without the old rows."""

    shape: Shape
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Added:
    """The counts of a changed model added up, and what they tell.

    `at_hand` are rows among the counted ones that weights are to be fitted on again.
    """

    counts: FamilyCounts
    books: Sequence[Codebook]
    class_counts: Sequence[float]
    info: Information
    shape: Shape
    at_hand: Encoded | None = None


# Rows are needed to fit them: counts do not tell how attributes depend on each other.
def weights_stay() -> str:
    """What is said where a change leaves weights alone."""
    return f"the weights stay as they are; {opt('refit_weights', True)} fits them by rows at hand"


class Kind(ABC):
    """How a model of this kind is made, and made again.

    `counts_sets`: its stored counts are those of sets of attributes, not of attributes with their
    parents. `needs_target`: without a class there is no such model.
    """

    counts_sets: ClassVar[bool]
    needs_target: ClassVar[bool] = True

    # -- what options may ask --------------------------------------------------------------------

    @property
    @abstractmethod
    def options(self) -> frozenset[str]:
        """What it uses of the options that are not every kind's.

        These are loocv_sample, structure_sample, bound, backoff, weight, smoothing, weights.
        """

    @property
    def recuts(self) -> int:
        """In how many further ways every quantity is cut."""
        return 0

    @abstractmethod
    def has_loo(self, smoothing: Smoothing) -> bool:
        """Whether there is a loss by leave-one-out."""

    @property
    def selection(self) -> Selection | None:
        """What is chosen by leave-one-out; None where nothing is."""
        return None

    @property
    def loss(self) -> Loss:
        """The loss by which models of this kind are compared."""
        return self.selection.loss if self.selection is not None else "rmse"

    def outlook(self, n_attributes: int, n_classes: int, limits: Limits) -> list[str]:
        """What to know of a model of so many attributes before it is made, a line each."""
        return []

    def tries_in_arrays(self, codes: Encoded) -> bool:
        """Whether a trial of such codes, of which only the shape matters, makes no table."""
        return False

    @abstractmethod
    def numbers_rows(self, with_loss: bool) -> bool:
        """Whether rows are drawn or told apart, without or with a loss by leave-one-out."""

    # -- a fit -----------------------------------------------------------------------------------

    def check_room(self, workspace: Workspace, codes: Encoded, names: Sequence[str]) -> None:
        """Refuse counts that will not fit on the disk before the rows are read for them."""
        return

    @abstractmethod
    def fitting(self, job: Job) -> Fitting:
        """A fit of this kind."""

    @abstractmethod
    def statements(
        self, encoded: Encoded, names: Sequence[str], learner: StructureLearner
    ) -> list[Titled]:
        """The statements that count, for people; what depends on counts is as without parents."""

    # -- a change --------------------------------------------------------------------------------

    def read_shape(
        self, workspace: Workspace, meta: Mapping[str, str], books: Sequence[Codebook], shape: Shape
    ) -> Shape:
        """All of the shape of a stored model, of which order, parents and `k` have been read."""
        return shape

    @abstractmethod
    def wanted(self, outline: Outline, info: Information) -> Shape:
        """The shape that these counts ask for, selection left as it is."""

    @abstractmethod
    def sets(self, shape: Shape) -> list[Family]:
        """The sets of attributes whose counts that shape needs."""

    @abstractmethod
    def empty_counts(self, workspace: Workspace, encoded: Encoded, shape: Shape) -> FamilyCounts:
        """A table for them."""

    @abstractmethod
    def finish(self, outline: Outline, added: Added, progress: Progress) -> None:
        """All further tables of the changed model."""

    @property
    def kept_notes(self) -> tuple[str, ...]:
        """What of a shape a change leaves as it is, told to the user."""
        return ()

    def chosen(self, outline: Outline, info: Information, shape: Shape) -> dict[str, Any]:
        """What is worth noting of the shape in the meta table."""
        return outline.learner.chosen(info, shape.structure)

    def rederive(self, outline: Outline, info: Information, covered: Covered) -> Rederived:
        """The best shape that the counts at hand can fill."""
        if outline.learner.needs.pairs and not outline.has_pairs:
            return self.unchanged(outline, "pairs of attributes are not stored")
        shape = self.wanted(outline, info)
        if all(covered(family) for family in self.sets(shape)):
            return Rederived(shape, self.kept_notes)
        return self.unchanged(
            outline, "the counts now ask for other parents, which were never counted together"
        )

    def unchanged(self, outline: Outline, why: str) -> Rederived:
        """The shape as it was."""
        notes = (*self.kept_notes, f"the structure stays as it is: {why}")
        return Rederived(outline.shape, notes)


@dataclass(frozen=True)
class Readable:
    """A table of probabilities for people: of an attribute and its parents, from which counts."""

    attribute: int
    place: int
    family: Family


class Scoring(ABC):
    """What the tables of a stored model say of its kind.

    `marker` is a table that only models of this kind have; `name` is the kind in JSON documents.
    `mixture` is empty where the model is one network, else what it is of several, and `nearest`
    are learners of one. `reads_twice`: rows are read to score the distinct ones, and again to give
    all of them their scores.
    """

    marker: ClassVar[str]
    mixture: ClassVar[str] = ""
    nearest: ClassVar[str] = ""
    reads_twice: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def read(cls, workspace: Workspace, books: Sequence[Codebook], smoothing: Smoothing) -> Scoring:
        """Of the model in a workspace; the codebooks are those that rows are scored under."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What `scores` holds, in JSON documents."""

    @property
    def adds_factors(self) -> bool:
        """Whether a row's scores are one sum over the factors, which steps can make up."""
        return False

    @property
    def joins_factors(self) -> bool:
        """Whether a query has one join for every factor: many make a large query."""
        return self.adds_factors

    @property
    def has_long_form(self) -> bool:
        """Whether one table of all factors, and one join, may stand in place of a join a factor."""
        return False

    def stages(self, scorer: Scorer) -> Sequence[Scorer]:
        """What is scored one after the other where one query would be too large."""
        return [scorer]

    def folded(self, scored: str, is_first: bool, scorer: Scorer) -> str:
        """Rows with the scores of a stage, and sums over earlier ones, with these in the sums."""
        raise AssertionError("a model of one stage")

    def from_sums(self, summed: str, scorer: Scorer) -> str:
        """Rows with sums over all stages, with scores in place of these."""
        raise AssertionError("a model of one stage")

    @property
    def n_turns(self) -> int:
        """Into how many rows a query unfolds one; 0 where it does not."""
        return 0

    def readable(
        self, names: Sequence[str], selected: Sequence[int], parents: Sequence[tuple[int, ...]]
    ) -> dict[str, Readable]:
        """The tables for people; a view is called `cpt_` and the name."""
        return {names[i]: Readable(i, i, (i, *parents[i])) for i in selected}

    @property
    def tables(self) -> list[str]:
        """The tables that a query joins, factors apart."""
        return []

    def used(self, scorer: Scorer) -> list[int]:
        """The attributes that a prediction looks at."""
        return sorted({v for f in scorer.factors for v in (*f.variables, *f.members)})

    @contextmanager
    def prepared(
        self, session: Session, scorer: Scorer, source: Source, progress: Progress
    ) -> Iterator[Scorer]:
        """The scorer for the rows of one source, as long as what is made for them is needed."""
        yield scorer

    @abstractmethod
    def scores(self, scorer: Scorer, coded: str, reorder: Limits | None) -> str:
        """Rows of a query with codes, with log scores in place of the codes.

        `reorder` are the limits where an optimiser will look for a join order (plain SQL users').
        """

    @abstractmethod
    def document(self, workspace: Workspace, scorer: Scorer) -> dict[str, Any]:
        """`scores` of a JSON document."""


def count_statements(blocks: Sequence[Block], encoded: Encoded, note: str = "") -> list[Titled]:
    """The statements that count some blocks of sets."""
    n = len(blocks)
    return [
        (f"block {number} of {n}: counts{note}", block_statement(block, encoded))
        for number, block in enumerate(blocks, 1)
    ]


def table_of(workspace: Workspace, name: str) -> dict[str, Any]:
    """Columns and rows of a table, by its key, for a JSON document."""
    found = workspace.session.arrow(workspace.select(name, order=["key"]))
    columns = [list(map(_plain, column.to_pylist())) for column in found.columns]
    return {"columns": found.column_names, "rows": list(zip(*columns, strict=True))}


def _plain(value: Any) -> float | int | None:
    # Keys past 2^63 are decimals in Arrow.
    return value if isinstance(value, float | None) else int(value)
