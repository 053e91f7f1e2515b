"""Leave-one-out losses of averaging models over the first attributes of an order, all prefixes.

A row is unfolded into one a super parent; attributes are joined in their order, and after each the
exponentials are added up by row. A super parent's logarithms start far below zero and come up when
the last of its attributes comes in. Rows go in chunks, so that the sums of all prefixes fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sqlbn.engines.packing import packed_sql
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import literal, render, select_sql
from sqlbn.kinds.average.average_loo_tables import NO_COUNT, AverageLooTables
from sqlbn.kinds.average.superparents import Averaged
from sqlbn.kinds.losses import (
    LEAST_PROBABILITY,
    Loss,
    LossTotals,
    needs_classes,
    terms,
)


class AverageLoo:
    """The losses of an averaging model with the first 0, 1, … attributes of an order.

    With `only_whole` that of the model with all attributes; the others' are not defined.
    """

    def __init__(
        self,
        averaged: Averaged,
        order: Sequence[int],
        losses: Sequence[Loss],
        rows: Encoded,
        only_whole: bool = False,
    ) -> None:
        d = len(order)
        self._prefixes = range(d if only_whole else 0, d + 1)
        self._averaged, self._order, self._losses, self._rows = averaged, order, losses, rows
        self._session = averaged.counts.workspace.session
        self._row_engine, self._dialect = self._session.row_engine, self._session.row_engine.dialect
        self._n_classes = len(averaged.class_counts)
        self._rotated = not any(needs_classes(loss) for loss in losses)
        # Where only the own class matters, the others' sum is all that is kept of them.
        self._two_sums = self._rotated and "brier" not in losses
        self._tables = AverageLooTables(averaged, order, self._rotated)
        self._shifted = (
            max(self._tables.high, -self._tables.low) > self._session.limits.average_loo_safe
        )
        self._rank = {v: place + 1 for place, v in enumerate(order)}
        self._implied = (
            self._tables.make_implied(averaged.min_count) if averaged.min_count is not None else {}
        )
        self._droppable = sorted({v for _, others in self._implied.values() for v in others})
        self._row = f"e.{rows.row_number}"
        self._weight = "w" if rows.weighted else None
        self._importance = rows.importance

    @property
    def n_chunks(self) -> int:
        """How many queries the rows are divided among."""
        return -(-self._rows.rows // self._chunk_rows)

    @property
    def _chunk_rows(self) -> int:
        if not self._row_engine.is_local:
            return max(1, self._rows.rows)  # a cluster puts aside what does not fit
        sums = len(self._prefixes) * (2 if self._two_sums else self._n_classes + 1)
        a_row = 16 * sums * (self._averaged.n + 1)
        limits = self._session.limits
        fitting = int(limits.average_loo_share * self._session.memory_bytes / a_row)
        return max(limits.average_loo_rows, fitting)

    def losses(self, advance: Callable[[], None] = lambda: None) -> dict[Loss, list[float]]:
        """For each loss its value after 0, 1, … attributes."""
        totals = self._new_totals()
        for first in range(0, self._rows.rows, self._chunk_rows):
            self._add_chunk(totals, first, first + self._chunk_rows)
            advance()
        total = self._row_engine.row(select_sql(self._rows.relation, self._rows.total_sql))[0]
        return totals.losses(float(total))

    def time_slice(self, size: int) -> None:
        """Do the work for a few rows, to see how long it takes."""
        self._add_chunk(self._new_totals(), 0, size)

    def drop(self) -> None:
        """Remove the tables."""
        self._tables.drop()

    def _new_totals(self) -> LossTotals:
        return LossTotals(self._row_engine, self._losses, len(self._order) + 1, self._n_classes)

    def _add_chunk(self, totals: LossTotals, first: int, stop: int) -> None:
        kept = None
        with self._row_engine.joins_as_written():
            if self._shifted:
                kept = self._row_engine.persist(self._maxima_sql(first, stop), "loo_maxima")
            maxima = kept.relation if kept is not None else None
            totals.add(self._losses_sql(first, stop, maxima), self._prefixes, self._weight)
            if kept is not None:
                self._row_engine.unpersist(kept)

    # -- names -------------------------------------------------------------------------------

    @property
    def _scores(self) -> list[str]:
        return [f"s{j}" for j in range(self._n_classes)]

    @property
    def _kept(self) -> list[str]:
        """Columns of a row that losses need."""
        return ["y", *(["w"] if self._weight else [])]

    @property
    def _n_levels(self) -> int:
        return self._averaged.n + 1

    def _own(self, j: int, row: str) -> str | None:
        """Whether slot j is the row's own class: a condition, "" for always, None for never."""
        if self._rotated:
            return "" if j == 0 else None
        return f"{row}.y = {j}"

    # -- the sums ----------------------------------------------------------------------------

    def _maxima_sql(self, first: int, stop: int) -> str:
        """The largest logarithm of each row, level and prefix; NULL where no super parent is in."""
        query = self._joined_sql(first, stop, None, self._largest)
        near = literal(-self._tables.away / 2)
        items = [f"CASE WHEN max(m{p}) > {near} THEN max(m{p}) END AS m{p}" for p in self._prefixes]
        listed = ", ".join([f"r * {self._n_levels + 1} + level AS id", *items])
        return select_sql(f"({query})", listed, group="id")

    def _largest(self, prefix: int, logs: Sequence[str]) -> dict[str, str]:
        return {f"m{prefix}": self._dialect.greatest(logs)}

    def _summands(self, prefix: int, logs: Sequence[str]) -> dict[str, str]:
        """What is added up over super parents after some attributes."""
        shift = f" - m{prefix}" if self._shifted else ""
        parts = [f"exp({log}{shift})" for log in logs]
        if self._two_sums:
            return {f"o{prefix}": parts[0], f"x{prefix}": " + ".join(parts[1:]) or "0e0"}
        return {f"z{prefix}_{j}": part for j, part in enumerate(parts)}

    def _losses_sql(self, first: int, stop: int, maxima: str | None) -> str:
        query = self._joined_sql(first, stop, maxima, self._summands)
        sums = [n for p in self._prefixes for n in self._summands(p, self._scores)]
        found = []
        for p in self._prefixes:
            ratios, own = self._ratios(p)
            shift = f"-ln(greatest({own}, {literal(LEAST_PROBABILITY)}))"
            found_terms = terms(self._losses, ratios, own, shift, self._rotated, self._dialect)
            known = " + ".join([own, *ratios] if self._rotated else ratios)
            for name, sql in found_terms.items():
                found.append({"name": f"{name}{p}", "sql": sql, "known": known})
        return render(
            "loo/average_loo_sums",
            kept=self._kept,
            terms=found,
            levels=range(self._n_levels - 1, -1, -1),
            sums=sums,
            terms_sql=query,
        )

    def _ratios(self, p: int) -> tuple[list[str], str]:
        """The sums of a prefix as `terms` wants them: those of the slots, and the row's own."""
        if self._two_sums:
            return [f"x{p}"], f"o{p}"
        sums = [f"z{p}_{j}" for j in range(self._n_classes)]
        if self._rotated:
            return sums[1:], sums[0]
        cases = " ".join(f"WHEN {j} THEN {s}" for j, s in enumerate(sums))
        return sums, f"CASE y {cases} END"

    # -- joins -------------------------------------------------------------------------------

    def _joined_sql(
        self,
        first: int,
        stop: int,
        maxima: str | None,
        made: Callable[[int, Sequence[str]], dict[str, str]],
    ) -> str:
        """Rows a super parent, with what `made` makes of the logarithms after each attribute."""
        sql = self._start_sql(first, stop, maxima)
        shifts = [f"m{p}" for p in self._prefixes] if maxima else []
        drops = [*(f"g{v}" for v in self._droppable), *(["gone"] if self._implied else [])]
        kept = ["r", "level", *self._kept, *(["above"] if self._importance else [])]
        keys = [f"k{p}" for p in range(len(self._order))]
        at_first = made(0, self._scores) if 0 in self._prefixes else {}
        items = [f"{expression} AS {name}" for name, expression in at_first.items()]
        columns = [*kept, *keys, *self._scores, *shifts, *drops, *items]
        sql = select_sql(f"({sql})", ", ".join(columns))
        kept = [*kept, *shifts, *drops, *at_first]
        size = self._session.limits.loo_step
        for start in range(0, len(self._order), size):
            step = range(start, min(start + size, len(self._order)))
            later = keys[step.stop :]
            sql, new = self._step_sql(sql, step, [*kept, *later], made)
            kept += new
        return sql

    def _start_sql(self, first: int, stop: int, maxima: str | None) -> str:
        codes = [self._rows.column(v) for v in self._order]
        cards, n = self._tables.radices, self._n_classes
        supers, offset = [], 0
        for subset in self._tables.sets:
            columns, radices = [self._rows.column(v) for v in subset], [cards[v] for v in subset]
            key = packed_sql(columns, radices)
            supers.append(f"({offset}::BIGINT + ({key})) * {n} + y")
            offset += math.prod(radices)
        never = len(self._order) + 1
        gone = [
            self._dialect.least([str(never), *(f"g{v}" for v in subset if v in self._droppable)])
            for subset in self._tables.sets
        ]
        drops = [f"g{v}" for v in self._droppable]
        carried = ["r", *self._kept, *codes, *drops]
        return render(
            "loo/average_loo_start",
            kept=[f"k.{c}" for c in ("r", *self._kept, *drops)],
            carried=carried,
            keys=[
                {
                    "sql": packed_sql(
                        ["p.number", f"k.{code}"], [self._tables.n_numbers, cards[v]]
                    ),
                    "alias": f"k{place}",
                }
                for place, (v, code) in enumerate(zip(self._order, codes, strict=True))
            ],
            level=self._level,
            scores=[{"sql": self._start_score(j), "name": f"s{j}"} for j in range(n)],
            above=self._above,
            shifts=[f"m{p}" for p in self._prefixes] if maxima else [],
            supers=self._dialect.list(supers),
            base=self._dialect.nth("k.base", "t.turn"),
            turns=self._dialect.numbers(len(supers), "turn"),
            gone=self._dialect.list(gone) if drops else None,
            gone_at=self._dialect.nth("k.gone", "t.turn"),
            rows=self._rows_sql(first, stop, [*self._kept, *codes], never),
            table=self._tables.super_table,
            maxima=maxima,
            n_levels=self._n_levels + 1,  # with that of what was not seen
        )

    @property
    def _level(self) -> str:
        """The size of a super parent; -1 where no other row has its values."""
        if not self._importance:
            return "p.level"
        # No CASE, nor a bare 0 below: see `ratio_sql` of estimates.py.
        return "p.level - (p.level + 1) * CAST(k.w >= p.alone AS TINYINT)"

    @property
    def _above(self) -> str | None:
        """The logarithm that a row's own class is divided by, given a super parent."""
        if not self._importance:
            return None
        estimate = self._averaged.smoothing.of(len(self._averaged.class_counts))
        return f"ln({estimate.below_sql('(p.n - k.w)')}) + 0 * p.share"

    def _start_score(self, j: int) -> str:
        """The logarithm of a super parent alone."""
        own = self._own(j, "k") if self._importance else None
        if own is None:
            return f"p.l_{j}"
        changed = "ln((p.n - k.w) + p.share)"
        return f"p.l_{j} + " + (
            f"CASE WHEN {own} THEN {changed} ELSE 0 * p.n END" if own else changed
        )

    def _term(self, place: int, j: int) -> str:
        """The logarithm of an attribute given a super parent; 0 of a value that is unseen."""
        found, own = f"f{place}.l_{j}", self._own(j, "s")
        if not self._importance:
            return found
        zero = f"0 * f{place}.n"
        if own is not None:
            estimate = self._averaged.smoothing.of(self._tables.radices[self._order[place]])
            changed = f"ln({estimate.above_sql(f'(f{place}.n - s.w)')}) - s.above"
            counted = " AND ".join(filter(None, (own, f"f{place}.n <> {literal(NO_COUNT)}")))
            found = f"({found} + CASE WHEN {counted} THEN {changed} ELSE {zero} END)"
        if not self._averaged.smoothing.is_neutral:
            return found
        nothing = f"{zero} + 0 * f{place}.l_{j}"
        return f"CASE WHEN s.w < f{place}.alone THEN {found} + {zero} ELSE {nothing} END"

    def _rows_sql(self, first: int, stop: int, columns: Sequence[str], never: int) -> str:
        """A chunk of rows; g<i> is the prefix from which on attribute i is implied."""
        gone = []
        for v in self._droppable:
            code = f"e.{self._rows.column(v)}"
            cases = [
                f"CASE WHEN t{j}.i_{v} = {code}{self._enough(j)} THEN {self._rank[j]} "
                f"ELSE {never} END"
                for j, (_, others) in self._implied.items()
                if v in others
            ]
            gone.append({"sql": f"({self._dialect.least(cases)})::USMALLINT", "alias": f"g{v}"})
        return render(
            "loo/average_loo_rows",
            row=self._row,
            columns=list(dict.fromkeys(columns)),
            gone=gone,
            relation=self._rows.relation,
            joins=[
                {
                    "table": table,
                    "alias": f"t{j}",
                    "key": self._implied_key(j),
                }
                for j, (table, _) in self._implied.items()
            ],
            first=first,
            stop=stop,
        )

    def _implied_key(self, j: int) -> str:
        code = f"e.{self._rows.column(j)}"
        if self._importance:
            return code
        return packed_sql([code, "e.y"], [self._tables.radices[j], self._n_classes])

    def _enough(self, j: int) -> str:
        """The condition that other rows with a value are enough to say what it implies."""
        return f" AND t{j}.n - e.w > {self._averaged.min_count}" if self._importance else ""

    def _step_sql(
        self,
        before: str,
        step: range,
        carried: list[str],
        made: Callable[[int, Sequence[str]], dict[str, str]],
    ) -> tuple[str, list[str]]:
        """A few more attributes, and the names of the columns that they leave."""
        products, out, names = [], [], []
        so_far = {j: f"s.s{j}" for j in range(self._n_classes)}
        for p in step:
            attribute = self._order[p]
            for j in so_far:
                so_far[j] += self._change(attribute, p, j, step)
                products.append({"sql": so_far[j], "name": f"q{p}_{j}"})
                if attribute in self._droppable:
                    products.append({"sql": self._term(p, j), "name": f"f{p}_{j}"})
                    names.append(f"f{p}_{j}")
            wanted = made(p + 1, [f"q{p}_{j}" for j in so_far]) if p + 1 in self._prefixes else {}
            for name, sql in wanted.items():
                out.append({"sql": sql, "name": name})
                names.append(name)
        out += [{"sql": n, "name": n} for n in names if n.startswith("f")]
        last = step.stop - 1
        out += [{"sql": f"q{last}_{j}", "name": f"s{j}"} for j in so_far]
        sql = render(
            "loo/loo_step",
            before=before,
            kept=carried,
            carried=[f"s.{c}" for c in carried],
            joins=[
                {
                    "relation": self._tables.child_tables[self._order[p]],
                    "alias": f"f{p}",
                    "key": f"k{p}",
                }
                for p in step
            ],
            products=products,
            terms=out,
        )
        return sql, names

    def _change(self, attribute: int, place: int, j: int, step: range) -> str:
        """What an attribute that comes in adds to a logarithm, and what it makes drop out."""
        prefix = place + 1
        term = self._term(place, j)
        if attribute in self._droppable:
            term = f"CASE WHEN s.g{attribute} > {prefix} THEN {term} ELSE 0 END"
        change = f" + {term}"
        if attribute in self._implied:
            for other in self._implied[attribute][1]:
                if self._rank[other] < prefix:
                    at = self._rank[other] - 1
                    # Of this very step the column is not yet made.
                    old = self._term(at, j) if at in step else f"s.f{at}_{j}"
                    change += f" - CASE WHEN s.g{other} = {prefix} THEN {old} ELSE 0 END"
            away = literal(self._tables.away)
            change += f" - CASE WHEN s.gone = {prefix} THEN {away} ELSE 0 END"
        return change
