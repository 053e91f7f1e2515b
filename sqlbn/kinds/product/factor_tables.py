"""Lookup tables of a product: which are needed, fused or in chains of back-off; their making."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits
from sqlbn.engines.packing import key_type, packed_sql
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import render
from sqlbn.engines.threads import ahead
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.estimates import PLAIN, Chain, MEstimate, Smoothing, log_factor
from sqlbn.kinds.product.seen_chain import SeenChain

Array = npt.NDArray[Any]
# A table of a deeper level, the codes of its cells, their logarithms by class.
Seen = tuple["Factor", Sequence[Array], Array]
Role = Literal["base", "cell", "parents", "discount", "child", "sparse", "group"]
# The roles of tables that have a row for every key.
COMPLETE = ("base", "child", "group")


@dataclass(frozen=True)
class Factor:
    """One lookup table: packed codes of `variables` → one log probability a class.

    A `base` has a row for every key. A chain belongs to one attribute: its base, and before it
    `cell` and `parents` tables of deeper levels of back-off that hold only what was seen; where
    levels are mixed, a `discount` is added to what the level above says of a value that was not
    seen with these parents. `members` are the attributes whose probabilities are multiplied into
    it.

    In an averaging model the key starts with the number of a super parent's value: a `child` has
    a row for every key, a `sparse` one only for what was seen. In a collection a `group` is a
    block of a table for one repeat of the turns (`level`); several blocks may share a number.
    """

    number: int
    role: Role
    variables: tuple[int, ...]
    members: tuple[int, ...]
    level: int

    @property
    def table(self) -> str:
        """The table's name in the model's schema."""
        return f"predict_factor_{self.number}"


def chains_of(factors: Sequence[Factor]) -> list[list[Factor]]:
    """Factors that belong together, each chain from its deepest level down to its base."""
    depth = {"cell": 2, "parents": 1, "discount": 1, "base": 0}
    # A chain starts with its base; several members of an ensemble may have the same attribute.
    chains: list[list[Factor]] = []
    for factor in sorted(factors, key=lambda f: f.number):
        if factor.role == "base":
            chains.append([])
        chains[-1].append(factor)
    return [sorted(c, key=lambda f: (-f.level, -depth[f.role])) for c in chains]


def complete_values(rows: int, limits: Limits) -> int:
    """How many values a complete table of a model of so many rows may hold."""
    fair = min(limits.factor_values, limits.factor_values_per_row * rows)
    return max(limits.factor_values_least, fair)


def complete_level(family: Sequence[int], slots: Sequence[int], n_classes: int, most: int) -> int:
    """The deepest level of back-off that a complete table of `most` values can hold.

    `family` is an attribute and its parents in order.
    """
    level, keys = 0, slots[family[0]]
    for parent in family[1:]:
        keys *= slots[parent]
        if keys * n_classes > most:
            break
        level += 1
    return level


def plan_factors(
    families: Sequence[tuple[int, ...]],
    slots: Sequence[int],
    n_classes: int,
    smoothing: Smoothing,
    most: int,
    limits: Limits,
) -> list[Factor]:
    """The lookup tables of a product of P(x | parents, y), one family an attribute.

    The tables of one chain, and the members of one fused table, stand together.
    """
    factors: list[Factor] = []
    fusible = []
    for family in families:
        level = complete_level(family, slots, n_classes, most)
        if level == len(family) - 1:
            fusible.append(family)
            continue
        member = (family[0],)
        factors.append(Factor(len(factors), "base", family[: level + 1], member, level))
        # Without back-off only the deepest level says anything.
        first = level + 1 if smoothing.backoff != "none" else len(family) - 1
        for deeper in range(first, len(family)):
            factors.append(Factor(len(factors), "cell", family[: deeper + 1], member, deeper))
            if smoothing.is_hierarchical or smoothing.backoff != "cell":
                role: Role = "discount" if smoothing.is_hierarchical else "parents"
                parents = family[1 : deeper + 1]
                factors.append(Factor(len(factors), role, parents, member, deeper))
    keys = max(1, min(limits.fused_keys, limits.fused_values // n_classes))
    for group in fuse(fusible, slots, keys):
        union = sorted(set().union(*group))
        members = tuple(family[0] for family in group)
        factors.append(Factor(len(factors), "base", tuple(union), members, -1))
    return factors


def fuse(
    families: Sequence[tuple[int, ...]], slots: Sequence[int], most: int
) -> list[list[tuple[int, ...]]]:
    """Groups of families whose joint key has at most so many values: one table each."""
    members: dict[int, list[int]] = {}
    for i, family in enumerate(families):
        for v in family:
            members.setdefault(v, []).append(i)
    alone = [math.prod(slots[v] for v in family) for family in families]
    left, groups = dict.fromkeys(range(len(families))), []
    by_growth = dict.fromkeys(sorted(left, key=lambda i: (alone[i], i)))
    while left:
        chosen, union, group = next(iter(left)), set[int](), []
        while True:
            union |= set(families[chosen])
            group.append(families[chosen])
            del left[chosen], by_growth[chosen]
            # Only families that share a variable with the union grow it by less than they are.
            near = {i for v in union for i in members[v] if i in left}
            growth = {i: math.prod(slots[v] for v in families[i] if v not in union) for i in near}
            far = next((i for i in by_growth if i not in near), None)
            if far is not None:
                growth[far] = alone[far]
            keys = math.prod(slots[v] for v in union)
            chosen = min(growth, key=lambda i: (growth[i], i), default=-1)
            if chosen < 0 or keys * growth[chosen] > most:
                break
        groups.append(group)
    return groups


@dataclass(frozen=True)
class AttributeValues:
    """What the codes of each attribute are: values, unseen, or `ignored`, which count as none."""

    slots: tuple[int, ...]
    ignored: tuple[tuple[int, ...], ...]
    n_values: tuple[int, ...]

    @staticmethod
    def of(encoded: Encoded, smoothing: Smoothing) -> AttributeValues:
        """The values of the attributes of a table of codes."""
        cards = encoded.cards[:-1]
        missing = encoded.missing or (None,) * len(cards)
        pairs = list(zip(cards, missing, strict=True))
        return AttributeValues(
            tuple(smoothing.slots(*pair) for pair in pairs),
            tuple(smoothing.ignored_codes(*pair) for pair in pairs),
            tuple(smoothing.n_values(*pair) for pair in pairs),
        )

    def present(self, alias: Mapping[int, str]) -> list[str]:
        """Conditions on the codes of training rows that leave the ignored ones out."""
        return [
            f"{name} <> {code}"
            for v, name in alias.items()
            for code in self.ignored[v]
            if code < self.slots[v] - 1
        ]


class FactorTables:
    """Makes the model's factors from counts: their tables, and the workspace's `factors`.

    `chains` say how the levels of each attribute are put together; without them the deepest
    counts in full.
    """

    def __init__(
        self, counts: FamilyCounts, smoothing: Smoothing, chains: Mapping[int, Chain] | None = None
    ) -> None:
        self._counts, self._smoothing = counts, smoothing
        self._chains = chains if chains is not None else dict.fromkeys(counts.families, PLAIN)
        self._workspace = counts.workspace
        self._limits = counts.workspace.session.limits
        self._values = AttributeValues.of(counts.encoded, smoothing)
        self._slots, self._ignored = self._values.slots, self._values.ignored
        self._most = complete_values(counts.encoded.rows, self._limits)

    def make(self) -> list[Factor]:
        """Every table that scoring joins."""
        factors = self.make_tables()
        write_factors(self._workspace, factors)
        return factors

    def make_tables(self, first: int = 0) -> list[Factor]:
        """The same, numbered from `first` on, and not yet listed in `factors`."""
        planned = plan_factors(
            list(self._counts.families.values()),
            self._slots,
            self._counts.n_classes,
            self._smoothing,
            self._most,
            self._limits,
        )
        factors = [replace(factor, number=first + factor.number) for factor in planned]
        session, deeper = self._workspace.session, dict[int, list[Factor]]()
        base = [factor for factor in factors if factor.role == "base"]
        tables = ahead(session.threads, map(self._base_job, base))
        for factor, columns in zip(base, tables, strict=True):
            session.create_table(self._workspace.table(factor.table), columns)
        for factor in factors:
            if factor.role != "base":
                deeper.setdefault(factor.members[0], []).append(factor)
        in_arrays = {a: own for a, own in deeper.items() if self._is_made_in_arrays(a)}
        jobs = (self._seen_job(attribute, own) for attribute, own in in_arrays.items())
        for made in ahead(session.threads, jobs):
            for factor, codes, logs in made:
                self._put_seen(factor, codes, logs)
        for attribute, own in deeper.items():
            for factor in own if attribute not in in_arrays else ():
                self._make_chain(factor)
        return factors

    def _base_job(self, factor: Factor) -> Callable[[], dict[str, Array]]:
        """What makes the columns of a complete table, whose counts are read now."""
        n_classes = self._counts.n_classes
        families = [self._counts.families[member] for member in factor.members]
        levels = [complete_level(own, self._slots, n_classes, self._most) for own in families]
        counted = [
            self._counts.array(own[0], level) for own, level in zip(families, levels, strict=True)
        ]

        def made() -> dict[str, Array]:
            total = np.zeros([*(self._slots[v] for v in factor.variables), n_classes])
            for own, level, counts in zip(families, levels, counted, strict=True):
                logs = self._logs(own, level, counts)
                total += spread(logs, own[: level + 1], factor.variables)
            flat = total.reshape(-1, n_classes)
            columns: dict[str, Array] = {"key": np.arange(len(flat), dtype=np.uint32)}
            return columns | {f"l_{j}": np.ascontiguousarray(flat[:, j]) for j in range(n_classes)}

        return made

    def single_logs(self) -> list[Array]:
        """ln P(x | y) of every attribute, parents left aside: (codes, classes)."""
        families = self._counts.families.values()
        return [self._logs(f[:1], 0, self._counts.array(f[0], 0)) for f in families]

    def _logs(self, family: Sequence[int], level: int, counts: Array) -> Array:
        """ln P(x | parents up to a level, y), from the counts there."""
        ignored = [self._ignored[v] for v in family[: level + 1]]
        if self._smoothing.backoff == "none" and level < len(family) - 1:
            # The base of a chain without back-off: the parents' values were never seen.
            counts = np.zeros_like(counts)
        return log_factor(counts, self._smoothing, ignored, self._chains[family[0]].cut(level))

    def _is_made_in_arrays(self, attribute: int) -> bool:
        """Whether levels are mixed or have weights, which only arrays can."""
        return self._smoothing.is_hierarchical or self._chains[attribute].weights is not None

    def _seen_job(self, attribute: int, factors: Sequence[Factor]) -> Callable[[], list[Seen]]:
        """What makes the deeper levels of an attribute, whose cells are read now."""
        ignored = [self._ignored[v] for v in self._counts.families[attribute]]
        cells, chain = SeenChain.cells_of(self._counts, attribute), self._chains[attribute]

        def made() -> list[Seen]:
            seen, found = cells.chain(self._smoothing, ignored), list[Seen]()
            for factor in factors:
                if factor.role == "cell":
                    codes = list(seen.levels[factor.level].codes)
                    logs = seen.log_cells(factor.level, chain)
                else:
                    codes, logs = seen.log_discounts(factor.level, chain)
                found.append((factor, codes, logs))
            return found

        return made

    def _put_seen(self, factor: Factor, codes: Sequence[Array], logs: Array) -> None:
        """The table of a deeper level."""
        put_keyed(
            self._workspace.session,
            self._workspace.table(factor.table),
            codes,
            [self._slots[v] for v in factor.variables],
            {f"l_{j}": logs[:, j] for j in range(logs.shape[1])},
        )

    def _make_chain(self, factor: Factor) -> None:
        """A deeper level that stands for itself, by a query."""
        attribute = factor.members[0]
        codes = self._counts.codes(attribute)
        used = self._counts.families[attribute][: factor.level + 1]
        alias = {v: f"c{place}" for place, v in enumerate(used)}
        parents = used[1:]
        # Without back-off an ignored parent leaves the factor out; there is one parent at most.
        ignored = self._ignored[parents[0]] if self._smoothing.backoff == "none" else ()
        cells = math.prod(self._slots[v] for v in used)
        n_classes = self._counts.n_classes
        estimate = self._smoothing.of(self._values.n_values[attribute])
        values: dict[str, Any] = {
            "key": packed_sql([alias[v] for v in used], [self._slots[v] for v in used]),
            "parents_key": packed_sql(
                [alias[v] for v in parents], [self._slots[v] for v in parents]
            ),
            "axes": [
                *({"code": codes[v], "alias": alias[v]} for v in used),
                {"code": codes[self._counts.encoded.class_variable], "alias": "y"},
            ],
            "counts": self._counts.table,
            "position": self._counts.place(attribute),
            "present": self._values.present(alias),
        }
        most = self._workspace.session.limits.chain_classes
        if n_classes > most and key_type(cells) != "HUGEINT":
            found = self._workspace.session.arrays(render("score/chain_counts", **values))
            columns = chain_columns(found, factor.role, n_classes, estimate, ignored)
            self._workspace.session.create_table(self._workspace.table(factor.table), columns)
            return
        self._workspace.session.run(
            "score/chain_factor",
            table=self._workspace.table(factor.table),
            role=factor.role,
            classes=range(n_classes),
            estimate=estimate,
            ignored=ignored,
            **values,
        )


def put_keyed(
    session: Session,
    table: str,
    codes: Sequence[Array],
    radices: Sequence[int],
    columns: Mapping[str, Array],
) -> None:
    """A table of columns under the packed key of some codes, which may be wider than an integer.

    The codes come in the order of their keys.
    """
    names = [f"c{axis}" for axis in range(len(codes))]
    by_code = dict(zip(names, codes, strict=True))
    view = session.register_columns({**by_code, **columns})
    try:
        session.run(
            "score/keyed",
            table=table,
            key=packed_sql(names, radices),
            columns=list(columns),
            relation=view,
        )
    finally:
        session.unregister(view)


def chain_columns(
    cells: Mapping[str, Array],
    role: str,
    n_classes: int,
    estimate: MEstimate,
    ignored: Sequence[int],
) -> dict[str, Array]:
    """What `chain_factor` makes by an expression a class, from counts of cells."""
    keys, first, places = np.unique(cells["key"], return_index=True, return_inverse=True)
    n = np.zeros((len(keys), n_classes))
    np.add.at(n, (places, cells["y"].astype(np.int64)), cells["n"].astype(float))
    parents, around = np.unique(cells["parents_key"][first], return_inverse=True)
    t = np.zeros((len(parents), n_classes))
    np.add.at(t, around, n)
    if role == "cell":
        logs = np.log(estimate.of(n, t[around]))
    else:
        extra = np.setdiff1d(np.asarray(ignored, dtype=parents.dtype), parents)
        keys = np.concatenate([parents, extra])
        logs = np.concatenate([np.log(estimate.unseen(t)), np.zeros((len(extra), n_classes))])
        order = np.argsort(keys)
        keys, logs = keys[order], logs[order]
    columns: dict[str, Array] = {"key": keys}
    for j in range(n_classes):
        columns[f"l_{j}"] = np.ascontiguousarray(logs[:, j])
    return columns


def spread(logs: Array, family: Sequence[int], variables: Sequence[int]) -> Array:
    """A factor's array laid out along the axes of a fused table."""
    order = sorted(range(len(family)), key=lambda a: variables.index(family[a]))
    turned = np.transpose(logs, [*order, logs.ndim - 1])
    present = set(family)
    index: list[Any] = [slice(None) if v in present else None for v in variables]
    return turned[(*index, slice(None))]


def write_factors(workspace: Workspace, factors: Sequence[Factor]) -> None:
    """The workspace's `factors` table: what each factor table is and how its key is packed."""
    workspace.fill(
        "factors",
        [(f.number, f.role, f.level, list(f.variables), list(f.members)) for f in factors],
    )
