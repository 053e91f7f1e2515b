"""Pass 3: the leave-one-out losses of all nested models, by joins with leave-one-out tables.

One query a k': rows are joined with one table an attribute, in MI order, and after each attribute
the losses of the model that ends there are added up. Wide data goes in batches of attributes; the
logarithms of the ratios are kept in between, so that nothing over- or underflows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlbn.counts.families import FamilyCounts
from sqlbn.engines.packing import packed_sql
from sqlbn.engines.sql import render, select_sql
from sqlbn.kinds.estimates import PLAIN, Chain, Smoothing, prior_columns, prior_sql, slots_of
from sqlbn.kinds.losses import (
    Loss,
    LossTotals,
    needs_classes,
    terms,
)
from sqlbn.kinds.product.product_loo_tables import LooTables

Array = npt.NDArray[np.float64]
# Of left-out rows: ln of the classes' ratios to their own, their classes, their weights.
LeftOut = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any] | None]


@dataclass(frozen=True)
class Batch:
    """Attributes (places in the order) that one query joins, and the prefixes that it is asked for.

    `end` is where the last batch ends.
    """

    places: range
    end: int
    prefixes: tuple[int, ...]

    @property
    def is_first(self) -> bool:
        """Whether it starts from the prior."""
        return self.places.start == 0

    @property
    def is_last(self) -> bool:
        """Whether no attribute comes after it."""
        return self.places.stop == self.end


class LeaveOneOut:
    """The losses of KDB models over the first attributes of an order, for several k'.

    With `only_whole` those of the models with all attributes; the others' are not defined.
    """

    def __init__(
        self,
        counts: FamilyCounts,
        order: Sequence[int],
        class_counts: Sequence[float],
        smoothing: Smoothing,
        losses: Sequence[Loss],
        rows: str | None = None,
        only_whole: bool = False,
        chains: Mapping[int, Chain] | None = None,
    ) -> None:
        d = len(order)
        self._prefixes = range(d if only_whole else 0, d + 1)
        self._counts, self._order, self._losses = counts, order, losses
        self._smoothing = smoothing
        self._session, self._encoded = counts.workspace.session, counts.encoded
        self._row_engine = self._session.row_engine
        self._relation = rows or self._encoded.relation
        self._rotated = not any(needs_classes(loss) for loss in losses)
        self._slots = slots_of(counts.n_classes, self._rotated)
        self.chains = chains if chains is not None else dict.fromkeys(counts.families, PLAIN)
        total = float(sum(class_counts))
        self._tables = LooTables(counts, total, smoothing, self._rotated, self.chains)
        self._place: str | None = None
        self._weight = "w" if self._encoded.weighted else None
        summed = select_sql(self._relation, self._encoded.total_sql)
        self._total = float(self._row_engine.row(summed)[0])
        self._prior_bound = self._write_prior(np.asarray(class_counts, float), smoothing)

    def surface(
        self,
        ks: Sequence[int],
        advance: Callable[[], None] = lambda: None,
        is_enough: Callable[[dict[Loss, Array]], bool] | None = None,
        wanted: Mapping[int, Sequence[int]] | None = None,
    ) -> dict[Loss, Array]:
        """For each loss an array (k' in the order of `ks`, number of attributes).

        `is_enough` is asked after each k' whether the greater ones may be left out. `wanted` are
        the numbers of attributes of each k', where not all are; the values of others are 0.
        """
        found: dict[Loss, Array] = {
            loss: np.zeros((0, len(self._order) + 1)) for loss in self._losses
        }
        try:
            with self._row_engine.joins_as_written():
                for k in ks:
                    prefixes = self._prefixes if wanted is None else wanted.get(k, ())
                    values = self.losses_at(k, self._relation, self._total, prefixes)
                    for loss in self._losses:
                        found[loss] = np.vstack([found[loss], values[loss]])
                    self._tables.forget(k)
                    if prefixes:
                        advance()
                    if is_enough is not None and is_enough(found):
                        break
        finally:
            self._drop()
        return found

    def _drop(self) -> None:
        self._tables.drop()
        self._row_engine.unbroadcast(self._prior)
        self._session.drop_table(self._prior)

    @property
    def threads(self) -> int:
        """How many threads will share the rows."""
        return self._session.threads

    def prepare(self, k: int, n_attributes: int) -> None:
        """Make the tables of one k'; they are kept until it has been evaluated."""
        self._tables.prepare(self._order[:n_attributes], k)
        for position in self._order[:n_attributes]:
            self._tables.at(position, k)

    def time_slice(self, k: int, prefixes: Sequence[int], size: int) -> None:
        """Do the work of one k' for a few rows, to see how long it takes."""
        slice_ = self._row_engine.persist(select_sql(self._relation, limit=size), "loo_slice")
        with self._row_engine.joins_as_written():
            self.losses_at(k, slice_.relation, 1.0, prefixes)
        self._row_engine.unpersist(slice_)

    def _write_prior(self, class_counts: npt.NDArray[np.float64], smoothing: Smoothing) -> float:
        """Make the table of the prior; a bound on the logarithms of its ratios."""
        self._prior = self._session.fresh_name("loo_prior")
        n = len(class_counts)
        self._prior_estimate = estimate = smoothing.of(n)
        found = prior_columns(class_counts, estimate, self._rotated, self._encoded.importance)
        columns = {"key": np.arange(n, dtype=np.uint16)}
        columns |= {name: np.ascontiguousarray(values) for name, values in found.items()}
        self._session.create_table(self._prior, columns)
        if self._encoded.importance:
            return estimate.most_log_ratio(float(class_counts.sum()), n)
        return max((float(np.abs(np.log(r)).max()) for r in found.values()), default=0.0)

    def left_out_logs(self, k: int, place: str) -> LeftOut:
        """ln of the classes' ratios to a row's own, of every row after all attributes.

        `place` is a column of the rows that puts them into an order.
        """
        relation, state = self._relation, None
        self._place = place
        try:
            with self._row_engine.joins_as_written():
                for batch in self._batches(k, ()):
                    carried = self._carried(batch, k)
                    query = self._joined_sql(batch, k, relation, False, carried)
                    query = self._state_sql(batch, k, query)
                    after = None if batch.is_last else self._row_engine.persist(query, "loo_state")
                    if after is None:
                        found = self._row_engine.arrays(select_sql(f"({query})", order=place))
                    else:
                        relation = after.relation
                    if state is not None:
                        self._row_engine.unpersist(state)
                    state = after
        finally:
            self._drop()
        return self._left_out(found)

    def _left_out(self, found: Mapping[str, npt.NDArray[Any]]) -> LeftOut:
        """Logarithms of ratios as a query gives them, one column a slot, by class."""
        n_classes, y = self._counts.n_classes, found["y"].astype(np.int64)
        logs = np.zeros((len(y), n_classes))
        for j in self._slots:
            at = (y + j) % n_classes if self._rotated else j
            logs[np.arange(len(y)), at] = found[f"l{j}"]
        return logs, y, found["w"].astype(float) if self._weight else None

    # -- one k' ------------------------------------------------------------------------------

    def losses_at(
        self, k: int, relation: str, total: float, prefixes: Sequence[int]
    ) -> dict[Loss, list[float]]:
        """For each loss its value after 0, 1, … attributes, over the rows of a relation.

        Those of other numbers of attributes than `prefixes` are 0.
        """
        size = len(self._order) + 1
        totals = LossTotals(self._row_engine, self._losses, size, self._counts.n_classes)
        state = None
        for batch in self._batches(k, prefixes) if prefixes else ():
            wanted = batch.prefixes
            after, once = None, self._row_engine.joins_once and not batch.is_last
            carried = [] if batch.is_last else self._carried(batch, k)
            if wanted and not once:
                query = self._joined_sql(batch, k, relation, with_terms=True)
                totals.add(query, wanted, self._weight)
            if once:
                query = self._joined_sql(batch, k, relation, with_terms=True, carried=carried)
                after = self._row_engine.persist(query, "loo_state")
                relation = select_sql(after.relation)
                if wanted:
                    totals.add(relation, wanted, self._weight)
                relation = f"({self._state_sql(batch, k, relation)})"
            elif not batch.is_last:
                query = self._joined_sql(batch, k, relation, with_terms=False, carried=carried)
                after = self._row_engine.persist(self._state_sql(batch, k, query), "loo_state")
                relation = after.relation
            if state is not None:
                self._row_engine.unpersist(state)
            state = after
        return totals.losses(total)

    def _batches(self, k: int, prefixes: Sequence[int]) -> list[Batch]:
        """Those up to the last of some prefixes; all attributes where there are none."""
        d, start, bound = max(prefixes, default=len(self._order)), 0, self._prior_bound
        ends: list[int] = []
        limits = self._session.limits
        self._tables.prepare(self._order[:d], k)
        for place, position in enumerate(self._order[:d]):
            bound += self._tables.at(position, k).bound
            most = limits.loo_first_bound if not ends else limits.loo_bound
            if place > start and (bound > most or place - start >= self._row_engine.joins_at_once):
                ends.append(place)
                start, bound = place, self._tables.at(position, k).bound
        ends.append(d)
        return [
            Batch(range(a, b), d, tuple(p for p in prefixes if a < p <= b or p == a == 0))
            for a, b in zip([0, *ends[:-1]], ends, strict=True)
        ]

    # -- SQL ---------------------------------------------------------------------------------

    def _ratio(self, j: int) -> str:
        return f"r{j}"

    def _kept(self) -> list[str]:
        """Columns of a row that losses need besides its ratios."""
        placed = [self._place] if self._place is not None else []
        return ["y", *(["w"] if self._weight else []), *placed]

    def _start_sql(self, batch: Batch, k: int, relation: str, carried: Sequence[str]) -> str:
        encoded = self._encoded
        keys = []
        for place in batch.places:
            axes = self._counts.axes(
                self._order[place], min(k, self._counts.depth(self._order[place]))
            )
            sql = packed_sql(
                [f"e.{encoded.column(v)}" for v in axes], [encoded.cards[v] for v in axes]
            )
            keys.append({"sql": sql, "alias": f"k{place}"})
        if batch.is_first:
            estimate, how = self._prior_estimate, (encoded.importance, self._rotated)
            ratios = [
                {
                    "sql": prior_sql(estimate, "prior", "e", j, *how),
                    "name": self._ratio(j),
                }
                for j in self._slots
            ]
            join = f"JOIN {self._prior} AS prior ON prior.key = e.y"
        else:
            # Products of this batch alone; what came before is a factor, relative to the largest.
            ratios = [{"sql": "1e0", "name": self._ratio(j)} for j in self._slots]
            ratios += [{"sql": f"exp(e.l{j} - e.top)", "name": f"start{j}"} for j in self._slots]
            ratios += [{"sql": "exp(-e.top)", "name": "own"}, {"sql": "e.top", "name": "shift"}]
            join = ""
        kept = [f"e.{c}" for c in (*self._kept(), *carried)]
        return render(
            "loo/loo_start", kept=kept, keys=keys, ratios=ratios, relation=relation, join=join
        )

    def _joined_sql(
        self, batch: Batch, k: int, relation: str, with_terms: bool, carried: Sequence[str] = ()
    ) -> str:
        """The rows of a batch with their ratios after it and the terms of the losses on the way."""
        sql = self._start_sql(batch, k, relation, carried)
        ratios = [self._ratio(j) for j in self._slots]
        kept = [*self._kept(), *carried]
        if not batch.is_first:
            kept += [*(f"start{j}" for j in self._slots), "own", "shift"]
        elif with_terms and 0 in batch.prefixes:
            sql, new = self._with_terms(sql, [*kept, *(f"k{p}" for p in batch.places), *ratios])
            kept += new
        size = self._session.limits.loo_step
        for start in range(batch.places.start, batch.places.stop, size):
            step = range(start, min(start + size, batch.places.stop))
            later = [f"k{p}" for p in range(step.stop, batch.places.stop)]
            terms_after = batch.prefixes if with_terms else ()
            sql, new = self._step_sql(sql, step, k, kept + later, terms_after, batch.is_first)
            kept += new
        return sql

    def _with_terms(self, sql: str, columns: list[str]) -> tuple[str, list[str]]:
        found = self._terms([self._ratio(j) for j in self._slots], is_first=True)
        items = [f"{expression} AS {name}0" for name, expression in found.items()]
        return select_sql(f"({sql})", ", ".join(columns + items)), [f"{n}0" for n in found]

    def _terms(self, products: Sequence[str], is_first: bool) -> dict[str, str]:
        """The terms of the losses from the products of a batch."""
        if is_first:
            return terms(self._losses, products, "1", "0", self._rotated, self._row_engine.dialect)
        ratios = [f"start{j} * {p}" for j, p in zip(self._slots, products, strict=True)]
        return terms(self._losses, ratios, "own", "shift", self._rotated, self._row_engine.dialect)

    def _step_sql(
        self,
        before: str,
        step: range,
        k: int,
        carried: list[str],
        terms_after: Sequence[int],
        is_first: bool,
    ) -> tuple[str, list[str]]:
        """A few more attributes, and the names of the terms that they leave."""
        joins = [
            {
                "relation": self._tables.at(self._order[p], k).relation,
                "alias": f"f{p}",
                "key": f"k{p}",
            }
            for p in step
        ]
        products, made, names = [], [], []
        so_far = {j: f"s.{self._ratio(j)}" for j in self._slots}
        for p in step:
            for j in self._slots:
                ratio = self._tables.ratio_sql(self._order[p], k, f"f{p}", "s", j)
                so_far[j] = f"{so_far[j]} * {ratio}"
                products.append({"sql": so_far[j], "name": f"q{p}_{j}"})
            if p + 1 in terms_after:
                found = self._terms([f"q{p}_{j}" for j in self._slots], is_first)
                made += [{"sql": sql, "name": f"{n}{p + 1}"} for n, sql in found.items()]
                names += [f"{n}{p + 1}" for n in found]
        last = step.stop - 1
        made += [{"sql": f"q{last}_{j}", "name": self._ratio(j)} for j in self._slots]
        sql = render(
            "loo/loo_step",
            before=before,
            kept=carried,
            carried=[f"s.{c}" for c in carried],
            joins=joins,
            products=products,
            terms=made,
        )
        return sql, names

    def _later_codes(self, batch: Batch, k: int) -> list[str]:
        """The codes that later batches need."""
        later = {
            v
            for position in self._order[batch.places.stop : batch.end]
            for v in self._counts.axes(position, min(k, self._counts.depth(position)))[:-1]
        }
        return [self._encoded.column(v) for v in sorted(later)]

    def _carried(self, batch: Batch, k: int) -> list[str]:
        """What a batch hands on to later ones besides its own ratios."""
        logs = [] if batch.is_first else [f"l{j}" for j in self._slots]
        return [*self._later_codes(batch, k), *logs]

    def _state_sql(self, batch: Batch, k: int, query: str) -> str:
        """After a batch: codes that later ones need, and the logarithms of the ratios."""
        items = [*self._kept(), *self._later_codes(batch, k)]
        for j in self._slots:
            before = "" if batch.is_first else f"l{j} + "
            items.append(f"{before}ln({self._ratio(j)}) AS l{j}")
        state = select_sql(f"({query})", ", ".join(items))
        largest = ", ".join(["0", *(f"l{j}" for j in self._slots)])
        return select_sql(f"({state})", f"*, greatest({largest})::DOUBLE AS top")
