"""Collections of networks by brute force in plain Python; goes with reference.py.

fan, superparent, fanc, spc, spcr, tc and collection, and nb, tan and kdb with either estimate and
either policy of missing values. Counts are exact and every probability is a Fraction; only scores
of fan, information and the mean that spcr compares are floats.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import reference
from reference import DECIMALS, Cells, Row

Places = tuple[int, ...]  # attributes by their position
Term = tuple[Places, Fraction]  # the parents besides the class, and the weight
Terms = dict[int, tuple[Term, ...]]  # attribute -> what its sum is made of
Known = tuple[int | None, ...]  # one code per attribute; None: no value, terms with it are left out

WITH_SUPERPARENT = ("superparent", "spc", "spcr")
BACKING_OFF = ("nb", "tan", "kdb")


@dataclass(frozen=True)
class Collection:
    model: reference.Model  # codes, MI, CMI; of nb, tan and kdb also the structure
    learner: str
    estimate: str  # 'laplace' or 'm'
    missing: str  # 'ignore' or 'value'
    order: Places
    terms: Terms
    superparent: int | None = None
    compared: tuple[float, ...] = ()  # what the structure hangs on besides MI, CMI; not rounded

    @property
    def target(self) -> str:
        return self.model.target

    @property
    def classes(self) -> tuple[Any, ...]:
        return self.model.classes

    @property
    def books(self) -> tuple[reference.Attribute, ...]:
        return self.model.attributes

    def cmi(self, attribute: str, other: str) -> float:
        name = [a.name for a in self.books]
        return self.model.cmi[name.index(attribute), name.index(other)]

    def values(self, i: int) -> int:
        """|X_i|: a missing value counts only where it is a value."""
        book = self.books[i]
        return book.n_values - (self.missing == "ignore" and book.has_missing)

    def known(self, row: Row) -> Known:
        """The codes of a row; an attribute without any value in training never has one.

        Nor has, by the neutral rule, one whose value no training row has.
        """
        codes = self.model.codes(row)
        seen = [{other[i] for other, _ in self.model.table} for i in range(len(self.books))]
        absent = (
            (self.model.unseen == "neutral" and codes[i] not in seen[i])
            or (
                self.missing == "ignore"
                and (reference.is_missing(row[a.name]) or not self.values(i))
            )
            for i, a in enumerate(self.books)
        )
        return tuple(None if no else code for no, code in zip(absent, codes, strict=True))

    @property
    def table(self) -> dict[tuple[Known, int], float]:
        """The distinct training rows and their weight."""
        last = [a.n_values - 1 if a.has_missing else None for a in self.books]
        if self.missing == "value":
            last = [None] * len(last)
        return {
            (tuple(None if x == gone else x for x, gone in zip(codes, last, strict=True)), y): w
            for (codes, y), w in self.model.table.items()
        }


# ---- learning


def fit(
    rows: Sequence[Row],
    names: Sequence[str],
    target: str,
    learner: str = "fanc",
    order: str | None = None,
    superparent: str = "auto",
    score: str = "bic",
    parents_from_first: int | None = None,
    parents: Mapping[str, Sequence[Any]] | None = None,
    estimate: str | None = None,
    missing: str | None = None,
    **options: Any,
) -> Collection:
    """Learn from rows; options: those of reference.fit."""
    single = learner in BACKING_OFF
    model = reference.fit(rows, names, target, learner if single else "nb", **options)
    places = ordered(model, order or default_order(learner))
    start = Collection(
        model,
        learner,
        estimate or ("m" if single else "laplace"),
        missing or ("value" if single else "ignore"),
        places,
        {},
    )
    first = len(places) if parents_from_first is None else parents_from_first
    if learner == "spcr":
        return best_superparent(start, first)
    if learner in WITH_SUPERPARENT and places:
        return with_superparent(start, find_superparent(model, superparent), first)
    if learner == "collection":
        return replace(start, terms=given_terms(model, parents or {}))
    if learner == "fan":
        edges = fan_gains(model, score)
        found = fan_parents(places, {e: round(g, DECIMALS) for e, g in edges.items()})
        return replace(start, terms=alone(found), compared=(0.0, *edges.values()))
    if single:
        return replace(start, terms=alone(model.parents))
    return replace(start, terms=architecture(learner, places, first))


def default_order(learner: str) -> str:
    return "schema" if learner in ("fanc", "spc", "spcr", "tc") else "mi"


def alone(parents: Mapping[int, Places]) -> Terms:
    """A single network: one term an attribute."""
    return {i: ((pa, Fraction(1)),) for i, pa in parents.items()}


def gain_sums(model: reference.Model) -> list[float]:
    """The sum over all other attributes j of I(X_i, X_j; Y) - I(X_j; Y), for each i."""
    d = range(len(model.attributes))
    found = {(i, j): reference.told(model.table, i, j) for i in d for j in d if i != j}
    return [
        round(math.fsum(round(found[i, j], DECIMALS) for j in d if j != i), DECIMALS) for i in d
    ]


def ordered(model: reference.Model, order: str) -> Places:
    d = range(len(model.attributes))
    if order == "schema":
        return tuple(d)
    merit = {"mi": model.mi, "gain": gain_sums(model)}[order]
    return tuple(sorted(d, key=lambda i: (-merit[i], i)))


def architecture(learner: str, order: Places, first: int) -> Terms:
    """The parent sets of each attribute; the super parent of spc is the first of the order."""
    terms = {}
    for place, i in enumerate(order):
        earlier = order[: min(place, first)]
        sets: list[Places] = [(), *combinations(earlier, 1)]
        if learner == "tc":
            sets += combinations(earlier, 2)
        if learner == "spc":
            sets += [(order[0], j) for j in earlier[1:]]
        terms[i] = tuple((pa, Fraction(1)) for pa in sets)
    return terms


def given_terms(model: reference.Model, parents: Mapping[str, Sequence[Any]]) -> Terms:
    place = {a.name: i for i, a in enumerate(model.attributes)}
    terms: Terms = {i: (((), Fraction(1)),) for i in place.values()}
    for name, sets in parents.items():
        full = [s if isinstance(s, Mapping) else {"parents": s} for s in sets]
        terms[place[name]] = tuple(
            (tuple(place[p] for p in s["parents"]), Fraction(s.get("weight", 1))) for s in full
        )
    return terms


# ---- the super parent


def find_superparent(model: reference.Model, name: str) -> int:
    if name == "auto":
        gains = gain_sums(model)
        return gains.index(max(gains))
    return [a.name for a in model.attributes].index(name)


def with_superparent(start: Collection, sp: int, first: int) -> Collection:
    order = (sp, *(i for i in start.order if i != sp))
    if start.learner == "superparent":
        terms = alone({i: () if i == sp else (sp,) for i in order})
    else:
        terms = architecture("spc", order, first)
    return replace(start, order=order, terms=terms, superparent=sp)


def best_superparent(start: Collection, first: int) -> Collection:
    """The spc whose mean P(y*|x) of the training rows is highest, the earliest of equals."""
    tried = [with_superparent(start, sp, first) for sp in range(len(start.order))]
    if not tried:
        return start
    means = [resubstitution(c) for c in tried]
    rounded = [round(mean, DECIMALS) for mean in means]
    best = tried[rounded.index(max(rounded))]
    return replace(best, compared=tuple(means))


def resubstitution(ref: Collection) -> float:
    """The mean of P(y*|x) over the training rows."""
    n, table = tally(ref), ref.table
    right = math.fsum(w * float(score(ref, n, codes)[y]) for (codes, y), w in table.items())
    return right / math.fsum(table.values())


# ---- the forest of fan


Edge = tuple[int, int]


def table_score(model: reference.Model, attributes: Places, how: str) -> float:
    """F of some attributes and the class; a missing value is a value."""
    n: Cells = defaultdict(float)
    for (codes, y), w in model.table.items():
        n[(*(codes[i] for i in attributes), y)] += w
    cells = len(model.classes) * math.prod(model.attributes[i].n_values for i in attributes)
    if how == "bayes":
        return math.fsum(math.lgamma(w + 1 / cells) - math.lgamma(1 / cells) for w in n.values())
    each = {"bic": math.log(sum(n.values())) / 2, "aic": 1.0}[how]
    return math.fsum([*(w * math.log(w) for w in n.values()), -each * cells])


def fan_gains(model: reference.Model, how: str) -> dict[Edge, float]:
    """What each edge adds to the score, by unit of weight."""
    d, total = range(len(model.attributes)), math.fsum(model.table.values())
    nothing = table_score(model, (), how)
    one = [table_score(model, (i,), how) for i in d]
    return {
        (i, j): math.fsum([table_score(model, (i, j), how), -one[i], -one[j], nothing]) / total
        for i, j in combinations(d, 2)
    }


def fan_parents(order: Places, gains: Mapping[Edge, float]) -> dict[int, Places]:
    """Kruskal's forest over the edges that gain something, each tree hung up at its earliest."""
    tree = {i: {i} for i in order}
    taken: list[Edge] = []
    # combinations() of the order has tied edges by their earlier member, then by the later one.
    for i, j in sorted(combinations(order, 2), key=lambda e: -gains[min(e), max(e)]):
        if gains[min(i, j), max(i, j)] > 0 and tree[i] is not tree[j]:
            taken.append((i, j))
            tree[i] |= tree[j]
            for member in tree[j]:
                tree[member] = tree[i]
    parents: dict[int, Places] = {}
    for root in order:
        if root not in parents:
            parents |= dict(walk(root, taken))
    return parents


def walk(root: int, edges: Sequence[Edge], above: Places = ()) -> Iterator[tuple[int, Places]]:
    """Every attribute of a tree and its parent, from the root away."""
    yield root, above
    for edge in edges:
        if root in edge:
            other = edge[1 - edge.index(root)]
            if (other,) != above:
                yield from walk(other, edges, (root,))


# ---- estimates


def is_whole(codes: Known, places: Places) -> bool:
    return all(codes[i] is not None for i in places)


def values_of(codes: Known, places: Places) -> tuple[Any, ...]:
    return tuple(codes[i] for i in places)


def tally(ref: Collection) -> Cells:
    """N(y); N(x_i, pa, y) and N(pa, y) of every term, over rows in which it has all its values.

    Of learners that back off, the terms of all the levels.
    """
    n: Cells = defaultdict(float)
    backs_off = ref.learner in BACKING_OFF
    for (codes, y), w in ref.table.items():
        n["y", y] += w
        for i, terms in ref.terms.items():
            for pa, _ in terms:
                for level in range(0 if backs_off else len(pa), len(pa) + 1):
                    part = pa[:level]
                    if is_whole(codes, (i, *part)):
                        n["x", i, part, codes[i], values_of(codes, part), y] += w
                        n["pa", i, part, values_of(codes, part), y] += w
    return n


def smoothing(ref: Collection, values: int) -> tuple[Fraction, Fraction]:
    """What is added to the count and to the sum of the counts of so many values."""
    if ref.estimate == "laplace":
        return Fraction(1), Fraction(values)
    return ref.model.m / values, ref.model.m


def prior(ref: Collection, n: Cells) -> list[Fraction]:
    c = range(len(ref.classes))
    a, b = smoothing(ref, len(c))
    total = sum(Fraction(n["y", y]) for y in c)
    return [(Fraction(n["y", y]) + a) / (total + b) for y in c]


def estimate(ref: Collection, n: Cells, i: int, pa: Places, codes: Known) -> list[Fraction]:
    """P(x_i | pa, y) for each y; the row has all these values."""
    a, b = smoothing(ref, ref.values(i))
    above = values_of(codes, pa)
    return [
        (Fraction(n["x", i, pa, codes[i], above, y]) + a) / (Fraction(n["pa", i, pa, above, y]) + b)
        for y in range(len(ref.classes))
    ]


def backed_off(ref: Collection, n: Cells, i: int, pa: Places, codes: Known) -> Places:
    """The parents up to the first that was not seen: with x_i too, or (parents) with any value."""
    for level in range(1, len(pa) + 1):
        part, above = pa[:level], values_of(codes, pa[:level])
        cell = ("x", i, part, codes[i], above)
        seen = cell if ref.model.backoff == "cell" else ("pa", i, part, above)
        if not any(n[(*seen, y)] for y in range(len(ref.classes))):
            return pa[: level - 1]
    return pa


def factor(ref: Collection, n: Cells, i: int, codes: Known) -> list[Fraction] | None:
    """S_i(y) for each y; None where no term is left."""
    terms = ref.terms[i]
    if ref.learner in BACKING_OFF and codes[i] is not None:
        terms = tuple((backed_off(ref, n, i, pa, codes), w) for pa, w in terms)
    left = [(pa, w) for pa, w in terms if is_whole(codes, (i, *pa))]
    if not left:
        return None
    each = [[w * p for p in estimate(ref, n, i, pa, codes)] for pa, w in left]
    return [sum(column, Fraction(0)) for column in zip(*each, strict=True)]


def joint(ref: Collection, n: Cells, codes: Known) -> list[Fraction]:
    """P(y) times the product of the sums, for each y."""
    answer = prior(ref, n)
    for i in ref.terms:
        factors = factor(ref, n, i, codes)
        if factors is not None:
            answer = [p * f for p, f in zip(answer, factors, strict=True)]
    return answer


def score(ref: Collection, n: Cells, codes: Known) -> list[Fraction]:
    """P(y | x) for each y."""
    return reference.normalised(joint(ref, n, codes))


def probabilities(ref: Collection, rows: Sequence[Row]) -> list[list[Fraction]]:
    n = tally(ref)
    return [score(ref, n, ref.known(row)) for row in rows]
