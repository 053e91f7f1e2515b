"""Random tables and options for collections of networks, their brute force, what is compared."""

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import pyarrow as pa
import pytest
import random_tables
import reference
import reference_collections
from hypothesis import strategies as st
from random_tables import TARGET, WEIGHT, Case, cases, learn, near, parents_of, rounds_the_same
from reference_collections import Collection

ARCHITECTURES = ("fanc", "spc", "spcr", "tc")
COLLECTIONS = (*ARCHITECTURES, "collection")
SINGLE = ("fan", "superparent")
EARLIER = ("nb", "tan", "kdb")
LEARNERS = (*SINGLE, *COLLECTIONS)
every_learner = pytest.mark.parametrize("learner", LEARNERS)
NamedTerm = tuple[str, frozenset[str], float]  # attribute, parents, weight
WEIGHTS = (0.1, 0.25, 1, 2.0, 3.5, 1000)


# ---- random tables


def with_gaps(rng: random.Random, case: Case) -> Case:
    """More new rows: training rows, of which some values are missing."""

    def gaps(row: dict[str, Any]) -> dict[str, Any]:
        return {
            name: None if name in case.attributes and rng.random() < 0.15 else value
            for name, value in row.items()
        }

    familiar = [gaps(row) for row in rng.choices(case.train, k=rng.randint(0, 6))]
    return replace(case, new=[*case.new, *familiar])


def with_relative(rng: random.Random, case: Case, name: str) -> Case:
    """One more column, of few values, which mostly follow another's: something to depend on."""
    source, values = rng.choice(case.attributes), rng.choice(("uv", "uvw"))
    others = (*values, None) if rng.random() < 0.5 else values
    trust = rng.choice((0.7, 0.9, 1.0))
    seen = sorted({repr(row[source]) for row in (*case.train, *case.new)})
    follow = {value: values[i % len(values)] for i, value in enumerate(seen)}

    def related(row: dict[str, Any]) -> dict[str, Any]:
        honest = rng.random() < trust
        return {**row, name: follow[repr(row[source])] if honest else rng.choice(others)}

    place = rng.randint(0, len(case.schema))
    return replace(
        case,
        schema=case.schema.insert(place, pa.field(name, pa.string())),
        train=[related(row) for row in case.train],
        new=[related(row) for row in case.new],
    )


def without_values(rng: random.Random, case: Case) -> Case:
    """One of the attributes, kept, is always missing in training; new rows do have values."""
    name = rng.choice(case.attributes)
    return replace(
        case,
        train=[{**row, name: None} for row in case.train],
        options={**case.options, "keep": [*case.options["keep"], name]},
    )


def parent_sets(rng: random.Random, names: Sequence[str]) -> dict[str, list[Any]]:
    """Up to four different sets of up to three parents for most attributes, without a cycle."""
    order = rng.sample(names, len(names))
    found: dict[str, list[Any]] = {}
    for place, name in enumerate(order):
        pool = [s for size in range(4) for s in combinations(order[:place], size)]
        sets = rng.sample(pool, min(rng.choice((0, 1, 1, 2, 3, 4)), len(pool)))
        sets = [rng.sample(s, len(s)) for s in sets]
        if rng.random() < 0.8:
            found[name] = [
                s if rng.random() < 0.5 else {"parents": s, "weight": rng.choice(WEIGHTS)}
                for s in sets
            ]
    return dict(rng.sample(sorted(found.items(), key=repr), len(found)))


def own_options(rng: random.Random, learner: str, names: Sequence[str]) -> dict[str, Any]:
    """What only some learners take; names: the attributes that are left."""
    asked: dict[str, Any] = {}
    if learner in (*ARCHITECTURES, *SINGLE) and rng.random() < 0.7:
        asked["order"] = rng.choice(("schema", "mi", "gain"))
    if learner in ARCHITECTURES and rng.random() < 0.4:
        asked["parents_from_first"] = rng.randint(1, 4)
    if learner in ("superparent", "spc") and names and rng.random() < 0.7:
        asked["superparent"] = rng.choice(("auto", *names))
    if learner == "fan" and rng.random() < 0.8:
        asked["score"] = rng.choice(("bic", "aic", "bayes"))
    if learner == "collection":
        asked["parents"] = parent_sets(rng, names)
    if learner == "kdb":
        asked["k"] = rng.randint(0, 4)
    return asked


def estimates(rng: random.Random, learner: str) -> dict[str, Any]:
    """Estimate, m, missing values and back-off, as far as they go together."""
    earlier = learner in EARLIER
    asked: dict[str, Any] = {
        "estimate": rng.choice((None, "m", "laplace")),
        "missing": rng.choice((None, "value", "ignore", "ignore")),
    }
    if (asked["estimate"] or ("m" if earlier else "laplace")) == "m":
        asked["m"] = rng.choice((0.5, 1.0, 2.0))
    if earlier and asked["missing"] != "ignore":
        asked["backoff"] = rng.choice(("cell", "parents"))
    return {name: value for name, value in asked.items() if value is not None}


@st.composite
def collections(
    draw: st.DrawFn, learners: Sequence[str] = LEARNERS, always_whole_weights: bool = False
) -> Case:
    case = draw(cases(always_whole_weights))
    rng = random.Random(draw(st.integers(0, 2**32)))
    learner = rng.choice(learners)
    shared = ("bins", "weight", "categorical", "numeric", "keep", "unseen")
    asked: dict[str, Any] = {key: case.options[key] for key in shared if key in case.options}
    asked |= {"learner": learner, **estimates(rng, learner)}
    if rng.random() < 0.2:
        asked["keep"] = case.attributes
    case = replace(case, options=asked)
    if learner == "fan" or rng.random() < 0.4:
        for name in ("r1", "r2", "r3")[: max(0, min(rng.randint(1, 3), 6 - len(case.schema)))]:
            case = with_relative(rng, case, name)
    case = with_gaps(rng, case)
    if rng.random() < 0.15:
        case = without_values(rng, case)
    left = [a.name for a in refer(replace(case, options=case.options | {"learner": "nb"})).books]
    return replace(case, options=case.options | own_options(rng, learner, left))


def made(names: Sequence[str], train: Sequence[Any], new: Sequence[Any], **options: Any) -> Case:
    """A case of text columns; training rows end with the class, which new rows do not have."""
    rows = [dict(zip((*names, TARGET), row, strict=True)) for row in train]
    return Case(
        pa.schema([(n, pa.string()) for n in (*names, TARGET)]),
        rows,
        [{**dict(zip(names, row, strict=True)), TARGET: None} for row in new],
        options,
    )


def complete(seed: int, **options: Any) -> Case:
    """Four attributes without missing values, some of which go together; new rows likewise."""
    rng = random.Random(seed)

    def row(values: str) -> list[str]:
        a, b, c = rng.choices(values, k=3)
        return [a, b, rng.choice((a, c)), rng.choice((b, "1"))]

    train = [(*row("012"), rng.choice("pqr")) for _ in range(60)]
    return made(("a", "b", "c", "d"), train, [row("0123") for _ in range(6)], **options)


def weighted(seed: int) -> Case:
    """The same for spcr, with weights, and every row twice."""
    case = complete(seed, learner="spcr", weight=WEIGHT)
    rng = random.Random(seed)
    return replace(
        case,
        schema=case.schema.append(pa.field(WEIGHT, pa.float64())),
        train=[{**row, WEIGHT: rng.choice((0.25, 0.25, 4.0))} for row in case.train * 2],
        new=[{**row, WEIGHT: 1.0} for row in case.new],
    )


# ---- the brute force


def refer(case: Case) -> Collection:
    """The brute force of the same rows and options."""
    return reference_collections.fit(case.train, case.attributes, TARGET, **case.options)


APART = 1e-9  # values that differ by less and are not equal are too near to judge
ERROR = 1e-14  # what sqlbn may lose in the score of an edge or in a mean before it rounds them


def are_clear(values: Iterable[float]) -> bool:
    """Whether any two values are well apart, or the same however they are rounded."""

    def is_tie(*pair: float) -> bool:
        return len({round(x + e, reference.DECIMALS) for x in pair for e in (-ERROR, ERROR)}) == 1

    return all(b - a > APART or is_tie(a, b) for a, b in pairwise(sorted(values)))


def is_clear(ref: Collection) -> bool:
    """Whether no decision hangs on the last bits; exact ties are clear.

    Left open: whether spcr may choose what has no values in training.
    """
    compared, allowed = ref.compared, True
    if ref.learner == "spcr" and ref.superparent is not None:
        compared = tuple(mean for mean in compared if mean >= max(compared) - APART)
        allowed = ref.values(ref.superparent) > 0
    return allowed and rounds_the_same(ref.model) and are_clear(compared)


@contextmanager
def by_collections() -> Iterator[None]:
    """What compares with the probabilities of reference.py compares with those of collections."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "probabilities", reference_collections.probabilities)
        yield


# ---- what is compared


def same_attributes(model: Any, ref: Collection) -> None:
    """The code books, MI and the learner's order."""
    rows = model.attributes.to_pylist()
    books = ref.model.attributes
    assert [r["attribute"] for r in rows] == [a.name for a in books]
    for i, (row, book) in enumerate(zip(rows, books, strict=True)):
        assert row["n_values"] == book.n_values, book
        assert near(row["mi"], ref.model.mi[i]), book
        assert row["rank"] == rank_order(ref).index(i), book
    for row in model.cmi.to_pylist():
        assert near(row["cmi"], ref.cmi(row["attribute"], row["other"])), row


def rank_order(ref: Collection) -> Sequence[int]:
    return ref.model.order if ref.learner in (*EARLIER, "collection") else ref.order


def empty_names(ref: Collection) -> set[str]:
    """Attributes without a value in training: nothing with them can be estimated."""
    return {a.name for i, a in enumerate(ref.books) if not ref.values(i)}


def named_terms(ref: Collection) -> list[NamedTerm]:
    name = [a.name for a in ref.books]
    return [
        (name[i], frozenset(name[j] for j in parents), float(weight))
        for i, terms in ref.terms.items()
        for parents, weight in terms
    ]


def estimated(terms: Iterable[NamedTerm], ref: Collection) -> list[NamedTerm]:
    """The terms that have a part in some score."""
    return [term for term in terms if not empty_names(ref) & {term[0], *term[1]}]


def same_selection(model: Any, ref: Collection) -> None:
    """Used is what has a term, not used what is in none.

    Left open: a parent of others without a term of its own, and who only has terms that cannot be
    estimated.
    """
    selected = {r["attribute"] for r in model.attributes.to_pylist() if r["selected"]}
    terms = named_terms(ref)
    children = {attribute for attribute, _, _ in estimated(terms, ref)}
    assert children <= selected
    assert selected <= {name for attribute, parents, _ in terms for name in (attribute, *parents)}


def by_name(term: NamedTerm) -> tuple[str, list[str]]:
    return term[0], sorted(term[1])


def terms_of(model: Any) -> list[NamedTerm]:
    """The table `terms`, the parents of each as a set."""
    rows = model.terms.to_pylist()
    found = [(r["attribute"], frozenset(r["parents"]), r["weight"]) for r in rows]
    assert [len(r["parents"]) for r in rows] == [len(parents) for _, parents, _ in found]
    return sorted(found, key=by_name)


def same_terms(model: Any, ref: Collection) -> None:
    """Every term once; those that cannot be estimated may be there or not."""
    wanted = sorted(named_terms(ref), key=by_name)
    assert estimated(terms_of(model), ref) == estimated(wanted, ref)
    assert {term[:2] for term in terms_of(model)} <= {term[:2] for term in wanted}


def same_parents(model: Any, ref: Collection) -> None:
    """The table `parents` of a single network."""
    name = [a.name for a in ref.books]
    wanted = {name[i]: [name[j] for j in pa] for i, ((pa, _),) in ref.terms.items()}
    assert parents_of(model) == wanted
    for row in model.parents.to_pylist():
        # Pairs are not counted for a super parent that was named.
        if not (ref.learner == "superparent" and row["cmi"] is None):
            assert near(row["cmi"], ref.cmi(row["attribute"], row["parent"])), row


def same_structure(model: Any, ref: Collection) -> None:
    same_attributes(model, ref)
    same_selection(model, ref)
    if ref.learner in COLLECTIONS:
        same_terms(model, ref)
    else:
        same_parents(model, ref)
    if ref.superparent is not None:
        assert model.meta["superparent"] == ref.books[ref.superparent].name


def same(case: Case, ref: Collection | None = None) -> list[list[float]]:
    """Compare the model, predictions and losses; the probabilities, now the same for both."""
    ref = ref or refer(case)
    with learn(case) as model, by_collections():
        same_structure(model, ref)
        random_tables.same_classes(model, ref.model)
        random_tables.same_predictions(model, ref, case)
        random_tables.same_losses(model, ref, case)
        return [[float(q) for q in p] for p in reference.probabilities(ref, case.new)]


def same_model(one: Any, other: Any, case: Case) -> None:
    """The same tables and predictions, to the last bit."""
    if case.options["learner"] in COLLECTIONS:
        assert terms_of(one) == terms_of(other)
    assert one.meta.get("superparent") == other.meta.get("superparent")
    random_tables.same_model(one, other, case)


def outcome(case: Case, **more: Any) -> list[list[float]]:
    """The probabilities that sqlbn gives to the new rows."""
    with learn(case, **more) as model:
        scored = model.predict(case.new_table)
        rows = scored.select(scored.column_names[len(case.schema) + 1 :]).to_pylist()
    return [list(row.values()) for row in rows]


def agree(got: Sequence[Sequence[Any]], wanted: Sequence[Sequence[Any]]) -> None:
    assert len(got) == len(wanted)
    for p, q in zip(got, wanted, strict=True):
        assert list(map(float, p)) == pytest.approx(
            list(map(float, q)), rel=0, abs=random_tables.TOLERANCE
        )
