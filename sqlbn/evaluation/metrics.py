"""The measures: losses, AUC and area over precision-recall, and whose class is positive."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlbn.data import Source
from sqlbn.encoding.learn_codebooks import learn_classes
from sqlbn.encoding.profile import check_weights
from sqlbn.engines import Session
from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.limits import added
from sqlbn.engines.sql import NAMES, literal, render
from sqlbn.errors import OptionError, opt
from sqlbn.kinds.losses import TIE, against_rest, matthews
from sqlbn.learners.fit_options import FitOptions

# Precisions are added up as whole numbers of these parts, so that the order does not matter.
PRECISION_UNIT = 2**60


def ranked_classes(n_classes: int, positive: int | None = None) -> Sequence[int]:
    """The classes to rank rows by: the positive one, else all; of two the second."""
    if n_classes < 2 or positive is None:
        return range(n_classes) if n_classes > 2 else range(1, n_classes)
    return [positive]


def rankable_sql(n_classes: int, labelled: str, dialect: Dialect = DUCKDB) -> str:
    """The rows of `labelled_sql` with what `ranking_sql` needs."""
    if n_classes <= 2:
        return labelled
    return render(
        "evaluate/labelled_odds",
        names=NAMES,
        labelled=labelled,
        kept=dialect.without([NAMES.second]),
        top=dialect.greatest([f"{NAMES.score}{j}" for j in range(n_classes)]),
        others=added([_below_sql(j) for j in range(n_classes)]),
        classes=range(n_classes),
    )


def _below_sql(code: int) -> str:
    """What a class adds to the sum of all but the best."""
    below = f"exp({NAMES.score}{code} - {NAMES.second})"
    return f"CASE {NAMES.best} WHEN {code} THEN 0 ELSE {below} END"


def odds_sql(n_classes: int, code: int, relation: str, weight_unit: int) -> str:
    """The different odds of a class, of rows of `rankable_sql`, and the weight that has each.

    All weights are multiples of 1 / `weight_unit`.
    """
    return render(
        "evaluate/odds",
        names=NAMES,
        odds=_odds_sql(n_classes, code),
        code=code,
        n_classes=n_classes,
        relation=relation,
        tie=literal(TIE),
        weight_unit=weight_unit,
    )


def ranking_sql(different: str, pieces: int | None = None) -> str:
    """Sums over a relation of `odds_sql` that AUC and average precision of a class are made of.

    With `pieces` of a unit of odds those of several classes, and no task sees all rows.
    """
    shared = {
        "different": different,
        "tie": literal(TIE),
        "precision_unit": literal(float(PRECISION_UNIT)),
    }
    if pieces is None:
        return render("evaluate/ranking", **shared)
    return render("evaluate/ranking_pieces", **shared, pieces=pieces)


def _sums_of_pairs(session: Session, odds: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Of each class that has rows its weight, twice that of wrong pairs, and its precisions."""
    row_engine, pieces = session.row_engine, session.limits.ranking_pieces
    if row_engine.is_local:
        for different in odds:
            yield row_engine.row(ranking_sql(f"({different})"))
        return
    with kept(session, " UNION ALL ".join(odds)) as different:
        for _, *sums in row_engine.rows(ranking_sql(different, pieces)):
            yield tuple(sums)


def _odds_sql(n_classes: int, code: int) -> str:
    """The logarithm of P(class) / P(not the class).

    It orders like P(class), which has no room for what is nearer to 1 than 1e-16 (naive Bayes with
    hundreds of attributes: most rows).
    """
    if n_classes == 2:
        return f"{NAMES.score}{code} - {NAMES.score}{1 - code}"
    below = f"{NAMES.score}{code} - {NAMES.highest}"
    # All but the class itself, in units of the best one: at least 1, so the difference is safe.
    others = f"1 + exp({NAMES.rest} - {NAMES.highest}) - exp({below})"
    best = f"{NAMES.highest} - {NAMES.rest}"
    return f"CASE WHEN {NAMES.best} = {code} THEN {best} ELSE {below} - ln({others}) END"


RANKINGS = ("auc", "aoprc")


@dataclass(frozen=True)
class RankingSums:
    """The figures of rows of this weight; without weight there are none, and both are NaN.

    `auc` is the probability that a row of a class has a higher P(class) than one of another class
    (ties count half), `aoprc` is 1 - average precision. They are those of the positive class, and
    without one the plain mean over the classes that some of the rows have and some have not.
    """

    weight: float = 0.0
    auc: float = math.nan
    aoprc: float = math.nan


def pooled_rankings(parts: Sequence[RankingSums]) -> RankingSums:
    """The mean of the parts that have figures, by their weight: scores of two models are not of
    one scale, so their rows are not ordered together."""
    known = [part for part in parts if part.weight]
    if len(known) <= 1:
        return known[0] if known else RankingSums()
    weight = math.fsum(part.weight for part in known)
    return RankingSums(
        weight,
        math.fsum(part.weight * part.auc for part in known) / weight,
        math.fsum(part.weight * part.aoprc for part in known) / weight,
    )


@contextmanager
def kept(session: Session, sql: str) -> Iterator[str]:
    """The rows of a query, to be read once a class: a scratch file, for there may be many."""
    found = session.row_engine.persist(sql, "scored", session.memory_bytes)
    try:
        yield found.relation
    finally:
        session.row_engine.unpersist(found)


def rank(
    session: Session,
    relation: str,
    n_classes: int,
    weight: float,
    weight_unit: int,
    positive: int | None = None,
) -> RankingSums:
    """The figures of rows that `rankable_sql` has given; `weight` is that of all of them."""
    aucs, aoprcs = [], []
    total = int(weight * weight_unit)
    odds = [
        odds_sql(n_classes, code, relation, weight_unit)
        for code in ranked_classes(n_classes, positive)
    ]
    for own, mixed, precision in _sums_of_pairs(session, odds):
        if own and (other := total - own):
            # Whole numbers of any size: exact up to the division.
            aucs.append((2 * own * other - mixed) / (2 * own * other))
            aoprcs.append((own * PRECISION_UNIT - precision) / (own * PRECISION_UNIT))
    if not aucs:
        return RankingSums()
    return RankingSums(weight, math.fsum(aucs) / len(aucs), math.fsum(aoprcs) / len(aoprcs))


@dataclass
class Sums:
    """Weighted sums over rows that losses are made of; they add up from part to part."""

    squared: float = 0.0
    log_loss: float = 0.0
    brier: float = 0.0


class _Loss:
    """A loss by its name; NaN where it was not asked for, or there is none."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, evaluation: Evaluation | None, owner: type) -> float:
        if evaluation is None:
            raise AttributeError(self._name)
        return evaluation.losses.get(self._name, math.nan)


@dataclass
class Evaluation:
    """Losses of predictions whose truth is known: `losses`, and each by its name.

    `confusion[i][j]` is the weight of rows of class i that were predicted as class j. Rows whose
    class the training rows did not have, or that have none, are `skipped`. `positive` is the class
    that `auc`, `aoprc` and `mcc` are about: the one asked for, of two the rarer; None: all.
    `ranking` is None where nobody asked for it.
    """

    classes: tuple[str, ...]
    confusion: list[list[float]] = field(default_factory=list)
    rows: int = 0
    skipped: int = 0
    positive: str | None = None
    ranking: RankingSums | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    _sums: Sums = field(default_factory=Sums, repr=False)

    rmse = _Loss()
    zero_one = _Loss()
    log_loss = _Loss()
    brier = _Loss()
    mcc = _Loss()
    accuracy = _Loss()
    rmse_all = _Loss()
    macro_f1 = _Loss()
    auc = _Loss()
    aoprc = _Loss()

    @property
    def weight(self) -> float:
        """Total weight of the rows; their number where there are no weights."""
        return math.fsum(map(math.fsum, self.confusion))

    @property
    def losses(self) -> dict[str, float]:
        """Every loss by its name; NaN where there was no row."""
        found = self._losses()
        if self.ranking is not None:
            found |= {"auc": self.ranking.auc, "aoprc": self.ranking.aoprc}
        return found

    def _losses(self) -> dict[str, float]:
        total = self.weight
        if not total:
            return dict.fromkeys(LOSSES, math.nan)
        correct = math.fsum(self.confusion[i][i] for i in range(len(self.classes)))
        return {
            "rmse": math.sqrt(self._sums.squared / total),
            "zero_one": (total - correct) / total,
            "log_loss": self._sums.log_loss / total,
            "brier": self._sums.brier / total,
            "mcc": matthews(self._labelled_confusion()),
            "accuracy": correct / total,
            "rmse_all": math.sqrt(self._sums.brier / total / len(self.classes)),
            "macro_f1": macro_f1(self.confusion),
        }

    def _labelled_confusion(self) -> list[list[float]]:
        """Of more than two classes the positive one against the rest, where there is one."""
        if self.positive not in self.classes or len(self.classes) <= 2:
            return self.confusion
        return against_rest(self.confusion, self.classes.index(self.positive))

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists, numbers and text; None where a loss is NaN."""
        return {
            **without_nan(self.losses),
            "rows": self.rows,
            "rows_skipped": self.skipped,
            "positive": self.positive,
            "classes": list(self.classes),
            "confusion": self.confusion,
            "seconds": {k: round(v, 4) for k, v in self.seconds.items()},
        }


LOSSES = ("rmse", "zero_one", "log_loss", "brier", "mcc", "accuracy", "rmse_all", "macro_f1")
MEASURES = (*LOSSES, *RANKINGS)
# Those that are about one class where there is a positive one.
OF_POSITIVE = ("auc", "aoprc", "mcc")
HIGHER_IS_BETTER = ("mcc", "accuracy", "macro_f1", "auc")


def macro_f1(confusion: Sequence[Sequence[float]]) -> float:
    """The plain mean of each class's F1, over classes that rows have or were predicted.

    >>> macro_f1([[2, 1], [0, 3]]), macro_f1([[3, 0], [0, 0]])
    (0.8285714285714285, 1.0)
    """
    found = []
    for j, row in enumerate(confusion):
        both = math.fsum(row) + math.fsum(other[j] for other in confusion)
        if both:
            found.append(2 * row[j] / both)
    return math.fsum(found) / len(found) if found else math.nan


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample; 0 of a single value, NaN of none."""
    if len(values) < 2:
        return 0.0 if values else math.nan
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((x - mean) ** 2 for x in values) / (len(values) - 1))


def check_measure(name: str) -> None:
    """An error that lists the names there are."""
    if name not in MEASURES:
        raise OptionError(f"choose one of {', '.join(MEASURES)}", measure=name)


def without_nan(losses: dict[str, float]) -> dict[str, float | None]:
    """Losses for JSON, which has no NaN."""
    return {name: None if math.isnan(value) else value for name, value in losses.items()}


def from_sums(
    classes: tuple[str, ...],
    sums: Sequence[tuple[Any, ...]],
    seconds: float,
    positive: str | None = None,
) -> Evaluation:
    """An evaluation from the rows of `sql/losses.sql`."""
    n = len(classes)
    result = Evaluation(classes, [[0.0] * n for _ in range(n)], seconds={"predict": seconds})
    result.positive = positive
    sums_of: tuple[list[float], list[float], list[float]] = ([], [], [])
    for y, predicted, weight, *losses, rows in sums:
        if y >= n:
            result.skipped += rows
            continue
        result.confusion[y][predicted] += weight
        result.rows += rows
        for column, value in zip(sums_of, losses, strict=True):
            column.append(value)
    result._sums = Sums(*map(math.fsum, sums_of))
    return result


def pooled(parts: Sequence[Evaluation]) -> Evaluation:
    """One evaluation of all rows of several; classes may differ from part to part.

    Rankings are means by the weight of the rows.
    """
    classes = tuple(sorted({c for part in parts for c in part.classes}))
    place = {c: i for i, c in enumerate(classes)}
    result = Evaluation(classes, [[0.0] * len(classes) for _ in classes])
    for part in parts:
        for i, row in enumerate(part.confusion):
            for j, weight in enumerate(row):
                result.confusion[place[part.classes[i]]][place[part.classes[j]]] += weight
        result.rows += part.rows
        result.skipped += part.skipped
        for name, taken in part.seconds.items():
            result.seconds[name] = result.seconds.get(name, 0.0) + taken
    result._sums = Sums(
        math.fsum(p._sums.squared for p in parts),
        math.fsum(p._sums.log_loss for p in parts),
        math.fsum(p._sums.brier for p in parts),
    )
    known = {p.positive for p in parts} - {None}
    result.positive = known.pop() if len(known) == 1 else None
    rankings = [p.ranking for p in parts if p.ranking is not None]
    result.ranking = pooled_rankings(rankings) if len(rankings) == len(parts) else None
    return result


_MOST_NAMED = 20


def asked_class(positive: object) -> str | None:
    """A class as models name it, which is text.

    >>> asked_class(True), asked_class(1), asked_class("yes"), asked_class(None)
    ('true', '1', 'yes', None)
    """
    if positive is None:
        return None
    return str(positive).lower() if isinstance(positive, bool) else str(positive)


def positive_class(
    asked: str | None, classes: Sequence[str], counts: Sequence[float]
) -> str | None:
    """The class that was asked for, else the rarer of two (the second where they are even).

    None where there are more than two and none was asked for: figures are means over all.
    """
    if asked is not None:
        check_class(asked, classes)
        return asked
    if len(classes) != 2:
        return None
    return classes[0] if counts[0] < counts[1] else classes[1]


def check_class(asked: str, classes: Sequence[str]) -> None:
    """An error that lists the classes where one is asked for that is not there."""
    if asked not in classes:
        named = ", ".join(map(repr, classes[:_MOST_NAMED]))
        more = ", …" if len(classes) > _MOST_NAMED else ""
        raise OptionError(f"{opt('positive', asked)} is no class; there is {named}{more}")


def positive_of_rows(
    session: Session, source: Source, options: FitOptions, asked: str | None
) -> str | None:
    """The same by all rows of a source, so that it is one class for all parts of them."""
    weights = None
    if options.weight is not None:
        weights = check_weights(session, source, source.column(options.weight, "the weight"))
        source = source.filtered(f"{weights.value_sql()} > 0")
    target = source.column(options.target, "the target")
    _, counted = learn_classes(session, source, target, weights)
    return positive_class(asked, [name for name, _ in counted], [n for _, n in counted])
