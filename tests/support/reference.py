"""The learners again, by brute force in plain Python, to check sqlbn against.

Nothing here is fast. Counts are exact (sums of dyadic weights), every probability is a Fraction,
and leave-one-out really retrains. AnDE, collections, MDL and MODL are not here.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

Row = Mapping[str, Any]  # column name -> str, int, bool, float or None
Codes = tuple[int, ...]  # one code per attribute, in the order of Model.attributes
Cells = defaultdict[tuple[Any, ...], float]  # a cell of some count table -> its weight

MAX_CATEGORICAL_INTS = 32
DECIMALS = 12  # MI and CMI are compared after rounding
TIE = Fraction(1, 10**10)  # probabilities this close, relatively, are a tie


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


# ---- values to codes


@dataclass(frozen=True)
class Attribute:
    """The code book of one column: codes of values (or intervals), then the missing code."""

    name: str
    kind: str  # 'categorical' or 'numeric'
    values: tuple[Any, ...]  # categorical: the value of each code; numeric: the cut points
    has_missing: bool
    n_values: int  # |X_i|, the missing code included

    def code(self, value: Any) -> int:
        """The code of a value; n_values, a code without any counts, if training never saw it."""
        if is_missing(value):
            return self.n_values - 1 if self.has_missing else self.n_values
        if self.kind == "categorical":
            return self.values.index(value) if value in self.values else self.n_values
        if self.n_values == self.has_missing:  # no interval at all: training had only missing
            return self.n_values
        return sum(1 for cut in self.values if value > cut)


def equal_frequency_cuts(seen: Mapping[Any, Fraction], bins: int) -> tuple[Any, ...]:
    """cut_j = the smallest v with bins * weight(x <= v) >= j * total; seen: value -> weight."""
    total = sum(seen.values())
    cuts = []
    for j in range(1, bins):
        below = Fraction(0)
        for value in sorted(seen):
            below += seen[value]
            if bins * below >= j * total:
                cuts.append(value)
                break
    # A cut at the maximum would leave the last interval empty.
    return tuple(cut for cut in sorted(set(cuts)) if cut < max(seen))


def column_kind(
    name: str, values: Collection[Any], categorical: Collection[str], numeric: Collection[str]
) -> str:
    if name in categorical or name in numeric:
        return "categorical" if name in categorical else "numeric"
    present = {v for v in values if not is_missing(v)}
    if any(isinstance(v, float) for v in values):
        return "numeric"
    if all(type(v) is int for v in present) and len(present) > MAX_CATEGORICAL_INTS:
        return "numeric"
    return "categorical"


def code_book(
    name: str,
    column: Sequence[tuple[Any, Fraction]],
    kind: str,
    bins: int,
    given: tuple[Any, ...] | None = None,
) -> Attribute:
    """given: cut points that another model has found."""
    has_missing = any(is_missing(v) for v, _ in column)
    seen: dict[Any, Fraction] = {}
    for value, weight in column:
        if not is_missing(value):
            seen[value] = seen.get(value, Fraction(0)) + weight
    if kind == "categorical":
        values = tuple(sorted(seen))
        return Attribute(name, kind, values, has_missing, len(values) + has_missing)
    cuts = equal_frequency_cuts(seen, bins) if given is None else given
    intervals = len(cuts) + 1 if seen or cuts else 0
    return Attribute(name, kind, cuts, has_missing, intervals + has_missing)


# ---- learning


@dataclass(frozen=True)
class Model:
    target: str
    classes: tuple[Any, ...]
    attributes: tuple[Attribute, ...]  # in schema order, constant ones left out
    table: dict[tuple[Codes, int], float]  # the distinct coded training rows and their weight
    mi: tuple[float, ...]
    cmi: dict[tuple[int, int], float]  # both (i, j) and (j, i)
    order: tuple[int, ...]  # attributes by descending MI
    parents: dict[int, tuple[int, ...]]
    m: Fraction
    backoff: str
    unseen: str  # 'neutral' or 'smoothed'
    rows: tuple[tuple[Codes, int, float], ...] = ()  # the coded training rows one by one
    weight_kind: str = "frequency"
    strengths: Mapping[int, Sequence[float]] | None = None  # hierarchical: by attribute and level
    weights: Mapping[int, Sequence[float]] | None = None  # exponents, by attribute and level
    shifts: Sequence[float] = ()  # added to the logarithm of each class

    def codes(self, row: Row) -> Codes:
        return tuple(a.code(row[a.name]) for a in self.attributes)


def weight_of(row: Row, weight: str | None) -> float:
    return 1.0 if weight is None else float(row[weight])


def fit(
    rows: Sequence[Row],
    names: Sequence[str],
    target: str,
    learner: str = "nb",
    k: int = 2,
    m: float = 1.0,
    backoff: str = "cell",
    unseen: str = "neutral",
    bins: int = 5,
    weight: str | None = None,
    categorical: Collection[str] = (),
    numeric: Collection[str] = (),
    keep: Collection[str] = (),
    cuts: Mapping[str, tuple[Any, ...]] | None = None,
    weight_kind: str | None = None,
) -> Model:
    """Learn from rows; names are the attributes in schema order (no target, no weight)."""
    if weight_kind is None:
        whole = all(weight_of(r, weight).is_integer() for r in rows)
        weight_kind = "frequency" if whole else "importance"
    used = [r for r in rows if not is_missing(r[target]) and weight_of(r, weight) > 0]
    classes = tuple(sorted({r[target] for r in used}))
    books = []
    for name in names:
        column = [(r[name], Fraction(weight_of(r, weight))) for r in used]
        kind = column_kind(name, [v for v, _ in column], categorical, numeric)
        book = code_book(name, column, kind, bins, (cuts or {}).get(name))
        if book.n_values > 1 or name in keep:
            books.append(book)
    table: dict[tuple[Codes, int], float] = {}
    coded = []
    for r in used:
        key = tuple(b.code(r[b.name]) for b in books), classes.index(r[target])
        table[key] = table.get(key, 0.0) + weight_of(r, weight)
        coded.append((*key, weight_of(r, weight)))
    d = range(len(books))
    mi = tuple(round(information(table, i, None), DECIMALS) for i in d)
    cmi = {}
    for i, j in combinations(d, 2):
        cmi[i, j] = cmi[j, i] = round(information(table, i, j), DECIMALS)
    order = tuple(sorted(d, key=lambda i: (-mi[i], i)))
    parents = (
        tan_parents(order, cmi)
        if learner == "tan"
        else kdb_parents(order, cmi, k if learner == "kdb" else 0)
    )
    return Model(
        target,
        classes,
        tuple(books),
        table,
        mi,
        cmi,
        order,
        parents,
        Fraction(m),
        backoff,
        unseen,
        tuple(coded),
        weight_kind,
    )


def information(table: Mapping[tuple[Codes, int], float], i: int, j: int | None) -> float:
    """MI(X_i; Y) for j None, else CMI(X_i; X_j | Y), in nats, not yet rounded."""
    n: Cells = defaultdict(float)
    for (codes, y), w in table.items():
        a, b, given = (codes[i], y, 0) if j is None else (codes[i], codes[j], y)
        for key in (("abg", a, b, given), ("ag", a, given), ("bg", b, given), ("g", given)):
            n[key] += w
    total = sum(table.values())
    terms = [
        w / total * math.log(w * n["g", g] / (n["ag", a, g] * n["bg", b, g]))
        for (_, a, b, g), w in ((key, w) for key, w in n.items() if key[0] == "abg")
    ]
    return math.fsum(terms)


def told(table: Mapping[tuple[Codes, int], float], i: int, j: int) -> float:
    """I(X_i; Y | X_j) in nats, not yet rounded: what X_i says of the class beyond X_j."""
    swapped: dict[tuple[Codes, int], float] = defaultdict(float)
    for (codes, y), w in table.items():
        swapped[(codes[i], y), codes[j]] += w
    return information(swapped, 0, 1)


def kdb_parents(
    order: Sequence[int], cmi: Mapping[tuple[int, int], float], k: int
) -> dict[int, tuple[int, ...]]:
    parents = {}
    for rank, i in enumerate(order):
        # sorted() is stable: equal CMI leaves the earlier in the MI order first.
        parents[i] = tuple(sorted(order[:rank], key=lambda j: -cmi[i, j])[:k])
    return parents


def tan_parents(
    order: Sequence[int], cmi: Mapping[tuple[int, int], float]
) -> dict[int, tuple[int, ...]]:
    """Prim's algorithm from the attribute with the highest MI."""
    parents: dict[int, tuple[int, ...]] = dict.fromkeys(order[:1], ())
    while len(parents) < len(order):
        # max() gives the first of equals: the new node earlier in the order, then the parent.
        edges = [(i, j) for i in order if i not in parents for j in order if j in parents]
        child, parent = max(edges, key=lambda edge: cmi[edge])
        parents[child] = (parent,)
    return parents


# ---- estimates


def tally(model: Model, left_out: tuple[Codes, int] | None = None, out: float = 1.0) -> Cells:
    """N(y), N(pa_1..pa_l, y) and N(x, pa_1..pa_l, y) for each attribute and level l.

    With left_out, so much of that row's weight is taken away.
    """
    n: Cells = defaultdict(float)
    for (codes, y), weight in model.table.items():
        w = weight - out if (codes, y) == left_out else weight
        n["y", y] += w
        for i in model.order:
            for level in range(len(model.parents[i]) + 1):
                pa = tuple(codes[j] for j in model.parents[i][:level])
                n["pa", i, pa, y] += w
                n["x", i, codes[i], pa, y] += w
    return defaultdict(float, {cell: w for cell, w in n.items() if w > 0})


def prior(model: Model, n: Cells) -> list[Fraction]:
    c = range(len(model.classes))
    total = sum(Fraction(n["y", y]) for y in c)
    return [(Fraction(n["y", y]) + model.m / len(c)) / (total + model.m) for y in c]


def factor(
    model: Model, n: Cells, i: int, codes: Codes, depth: int, backoff: str
) -> list[Fraction]:
    """P(x_i | pa, y) for each y, with at most depth parents."""
    c = range(len(model.classes))
    x = codes[i]
    if model.unseen == "neutral" and not any(n["x", i, x, (), y] for y in c):
        return [Fraction(1)] * len(c)  # no row has the value: it says nothing
    if model.strengths is not None:
        return mixed_factor(model, n, i, codes, depth)
    pa: Codes = ()
    for level in range(1, min(depth, len(model.parents[i])) + 1):
        deeper = tuple(codes[j] for j in model.parents[i][:level])
        by_cell = backoff == "cell"
        here = [n["x", i, x, deeper, y] if by_cell else n["pa", i, deeper, y] for y in c]
        if sum(here) == 0:
            break
        pa = deeper
    v = model.attributes[i].n_values
    return [
        (Fraction(n["x", i, x, pa, y]) + model.m / v) / (Fraction(n["pa", i, pa, y]) + model.m)
        for y in c
    ]


def mixed_factor(model: Model, n: Cells, i: int, codes: Codes, depth: int) -> list[Fraction]:
    """Every level is mixed with the one that has a parent less."""
    c, v = range(len(model.classes)), model.attributes[i].n_values
    assert model.strengths is not None
    found = [
        (Fraction(n["x", i, codes[i], (), y]) + model.m / v) / (Fraction(n["y", y]) + model.m)
        for y in c
    ]
    for level in range(1, min(depth, len(model.parents[i])) + 1):
        s = Fraction(model.strengths[i][level - 1])
        pa = tuple(codes[j] for j in model.parents[i][:level])
        found = [
            (Fraction(n["x", i, codes[i], pa, y]) + s * found[y])
            / (Fraction(n["pa", i, pa, y]) + s)
            for y in c
        ]
    return found


def strengths(model: Model, most: Any) -> dict[int, tuple[float, ...]]:
    """Of every level the s that `most` finds for lists of n, t and the level above, left out."""
    found: dict[int, tuple[float, ...]] = {}
    n = tally(model)
    for i in model.order:
        known: tuple[float, ...] = ()
        for level in range(1, len(model.parents[i]) + 1):
            cells: dict[Any, tuple[float, float, float]] = {}
            for codes, y in model.table:
                pa = tuple(codes[j] for j in model.parents[i][:level])
                key = codes[i], pa, y
                out = min(1.0, n["x", i, *key])
                above = {**model.__dict__, "strengths": {i: known}, "unseen": "smoothed"}
                left = tally(model, (codes, y), out)
                # What is left out of a cell of several rows is one of them, whichever.
                p = mixed_factor(Model(**above), left, i, codes, level - 1)[y]
                cells[key] = n["x", i, *key], n["pa", i, pa, y], float(p)
            known = (*known, most(*(list(column) for column in zip(*cells.values(), strict=True))))
        found[i] = known
    return found


def weighted_probabilities(model: Model, rows: Sequence[Row]) -> list[list[float]]:
    """Those of a product whose levels have exponents, and whose classes are shifted."""
    n, answer = tally(model), []
    assert model.weights is not None
    for row in rows:
        codes = model.codes(row)
        logs = [math.log(p) + s for p, s in zip(prior(model, n), model.shifts, strict=True)]
        for i in model.order:
            for level, weight in enumerate(model.weights[i]):
                factors = factor(model, n, i, codes, level, "cell")
                logs = [a + weight * math.log(f) for a, f in zip(logs, factors, strict=True)]
        scores = [math.exp(a - max(logs)) for a in logs]
        answer.append([s / sum(scores) for s in scores])
    return answer


def normalised(joint: Sequence[Fraction]) -> list[Fraction]:
    total = sum(joint, Fraction(0))
    return [p / total for p in joint]


def probabilities(model: Model, rows: Sequence[Row]) -> list[list[Fraction]]:
    n = tally(model)
    answer = []
    for row in rows:
        codes, joint = model.codes(row), prior(model, n)
        for i in model.order:
            factors = factor(model, n, i, codes, len(model.parents[i]), model.backoff)
            joint = [p * f for p, f in zip(joint, factors, strict=True)]
        answer.append(normalised(joint))
    return answer


def winner(p: Sequence[Fraction]) -> int:
    """The lowest class code whose probability is, but for rounding, the highest."""
    return next(y for y, q in enumerate(p) if q >= max(p) * (1 - TIE))


# ---- losses


Judged = tuple[int, Sequence[Fraction], float]  # true class, probabilities, weight


def losses(judged: Sequence[Judged]) -> dict[str, float]:
    total = math.fsum(w for _, _, w in judged)

    def mean(terms: Iterator[float]) -> float:
        return math.fsum(w * t for (_, _, w), t in zip(judged, terms, strict=True)) / total

    wrong = mean(float(winner(p) != y) for y, p, _ in judged)
    return {
        "rmse": math.sqrt(mean(float(1 - p[y]) ** 2 for y, p, _ in judged)),
        "zero_one": wrong,
        "accuracy": 1 - wrong,
        "log_loss": mean(-math.log(p[y]) for y, p, _ in judged),
        "brier": mean(
            float(sum((q - (z == y)) ** 2 for z, q in enumerate(p))) for y, p, _ in judged
        ),
        "mcc": mcc([(y, winner(p), w) for y, p, w in judged]),
    }


def mcc(pairs: Sequence[tuple[int, int, float]]) -> float:
    """Matthews' correlation for many classes (Gorodkin's R_K); 0 where it is 0/0."""
    n = math.fsum(w for _, _, w in pairs)
    true: dict[int, float] = {}
    said: dict[int, float] = {}
    for y, z, w in pairs:
        true[y] = true.get(y, 0) + w
        said[z] = said.get(z, 0) + w
    right = math.fsum(w for y, z, w in pairs if y == z)
    both = math.fsum(true[y] * said.get(y, 0) for y in true)
    spread = (n * n - math.fsum(t * t for t in true.values())) * (
        n * n - math.fsum(s * s for s in said.values())
    )
    return (right * n - both) / math.sqrt(spread) if spread > 0 else 0.0


def evaluate(model: Model, rows: Sequence[Row], weight: str | None = None) -> dict[str, float]:
    known = [r for r in rows if r[model.target] in model.classes and weight_of(r, weight) > 0]
    return losses(
        [
            (model.classes.index(r[model.target]), p, weight_of(r, weight))
            for r, p in zip(known, probabilities(model, known), strict=True)
        ]
    )


# ---- leave-one-out


Surface = list[list[float]]  # a loss by k' and number of attributes
LOSSES = ("rmse", "zero_one", "log_loss", "brier", "mcc")


def left_out_rows(model: Model) -> Iterator[tuple[Codes, int, float, float]]:
    """Codes, class, weight in the loss, and what of it is left out.

    Frequencies: one of equal rows, judged for all of them; importances: every row, and all of it.
    """
    if model.weight_kind == "importance":
        yield from ((codes, y, weight, weight) for codes, y, weight in model.rows)
    else:
        yield from ((codes, y, weight, 1.0) for (codes, y), weight in model.table.items())


def loocv_surfaces(model: Model, kmax: int) -> dict[str, Surface]:
    """Every loss of KDB with k' parents and the first l attributes: surfaces[loss][k'][l].

    model: KDB with k = kmax. Structure and codes come from all the rows; only the counts are
    retrained. Back-off is by cell (SEMANTICS: `--backoff parents` is for prediction only) but for
    `parents-both`.
    """
    backoff = "parents" if model.backoff == "parents-both" else "cell"
    judged: dict[tuple[int, int], list[Judged]] = {}
    for codes, y, weight, out in left_out_rows(model):
        n = tally(model, (codes, y), out)
        for k in range(kmax + 1):
            joint = prior(model, n)
            judged.setdefault((k, 0), []).append((y, normalised(joint), weight))
            for length, i in enumerate(model.order, start=1):
                factors = factor(model, n, i, codes, k, backoff)
                joint = normalised([p * f for p, f in zip(joint, factors, strict=True)])
                judged.setdefault((k, length), []).append((y, joint, weight))
    found = {cell: losses(rows) for cell, rows in judged.items()}
    lengths = range(len(model.order) + 1)
    return {
        loss: [[found[k, length][loss] for length in lengths] for k in range(kmax + 1)]
        for loss in LOSSES
    }


def loocv_surface(model: Model, kmax: int, loss: str) -> Surface:
    return loocv_surfaces(model, kmax)[loss]


def choose(
    surface: Sequence[Sequence[float]], select: str = "both", loss: str = "rmse"
) -> tuple[int, int]:
    """The (k', l) with the smallest loss (mcc: the largest); ties: fewer attributes, smaller k'.

    select: 'attributes' looks at the largest k' alone, 'k' at all the attributes alone. Losses
    are compared after rounding, like MI.
    """
    sign = -1 if loss == "mcc" else 1
    ks = [len(surface) - 1] if select == "attributes" else range(len(surface))
    d = len(surface[0]) - 1
    lengths = [d] if select == "k" else range(d + 1)
    _, length, k = min((round(sign * surface[k][n], DECIMALS), n, k) for k in ks for n in lengths)
    return k, length
