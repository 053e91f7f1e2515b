"""Products of sums in the scoring compiler: a row is unfolded into one a child.

Each of these rows adds up the child's terms, by joins on (child's value, other attributes); their
logarithms are added up by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlbn.counts.packing import key_type, packed_sql
from sqlbn.quoting import literal, relation_sql
from sqlbn.scoring.batches import BATCH, joined_batch
from sqlbn.scoring.collected import START_TABLE, Collected
from sqlbn.scoring.distinct_rows import Key, distinct_rows, identity, rejoined
from sqlbn.scoring.factors import Factor
from sqlbn.scoring.names import NAMES
from sqlbn.scoring.smoothing import silent_codes
from sqlbn.templates import render


@dataclass(frozen=True)
class CollectionQuery:
    """What a query needs to score rows with a collection whose tables are in a schema."""

    prefix: str | None
    log_prior: tuple[float, ...]
    factors: tuple[Factor, ...]
    collected: Collected
    outer: bool = False

    @property
    def used(self) -> list[int]:
        """The attributes that scoring looks at."""
        return self.collected.used(self.factors)

    @property
    def _classes(self) -> range:
        return range(len(self.log_prior))

    def rows(self, coded: str) -> str:
        """Rows of a query with codes, with log scores in place of the codes; it is read twice."""
        keys = identity(self.used, self.collected.slots)
        different = distinct_rows(coded, self.used, keys)
        scored = self.scores(different, [key["alias"] for key in keys])
        return rejoined(coded, self.used, keys, scored, len(self.log_prior))

    def scores(self, rows: str, carried: Sequence[str]) -> str:
        """Log scores of rows that have a number and codes; some more of their columns are kept."""
        scores = [f"{NAMES.score}{j}" for j in self._classes]
        if not self.collected.n_turns:
            priors = zip(self.log_prior, scores, strict=True)
            sums = [{"sql": literal(prior), "alias": score} for prior, score in priors]
            return render("added_up", by=[NAMES.row], carried=carried, sums=sums, terms=rows)
        terms, guarded = self._terms(rows, carried), self.collected.guarded
        if self.collected.by_child:
            sums = [{"sql": f"sum({score})", "alias": score} for score in scores]
            by = [NAMES.row, NAMES.child]
            terms = render("added_up", by=by, carried=carried, sums=sums, terms=terms)
        logs = [
            f"CASE WHEN {score} > 0 THEN ln({score}) ELSE 0 END" if guarded else f"ln({score})"
            for score in scores
        ]
        sums = [
            {"sql": f"{literal(prior)} + sum({log})", "alias": score}
            for prior, log, score in zip(self.log_prior, logs, scores, strict=True)
        ]
        return render("added_up", by=[NAMES.row], carried=carried, sums=sums, terms=terms)

    # -- terms -------------------------------------------------------------------------------

    def _terms(self, rows: str, carried: Sequence[str]) -> str:
        """One row a row and turn, with the sums of a child's terms by class."""
        c = self.collected
        items = [{"sql": "p.child", "alias": NAMES.child}] if c.by_child else []
        items += [self._group_key(table) for table in self._tables]
        items += [{"sql": f"p.l_{j}", "alias": f"{NAMES.score}{j}"} for j in self._classes]
        packed = [self._packed(table) for table in self._tables]
        if c.sparse:
            items += self._sparse_items()
            packed += self._sparse_lists()
        scored = render(
            "unfold",
            names=NAMES,
            carried=carried,
            items=items,
            packed=packed,
            turns=self._turns(),
            coded=rows,
            table=relation_sql(self.prefix, START_TABLE),
        )
        for start in range(0, len(self._tables), BATCH):
            scored = self._group_batch(scored, self._tables[start : start + BATCH])
        return self._sparse_batch(scored) if c.sparse else scored

    @property
    def _tables(self) -> list[list[Factor]]:
        """The blocks of each table, in the order of repeats."""
        tables: dict[int, list[Factor]] = {}
        for factor in self.factors:
            if factor.role == "group":
                tables.setdefault(factor.number, []).append(factor)
        return [sorted(blocks, key=lambda f: f.level) for blocks in tables.values()]

    def _turns(self) -> list[str]:
        """The key of each turn in the table that turns start from."""
        c = self.collected
        kind = key_type(c.n_keys)
        firsts = [(i, first) for _, i, first in c.numbered_turns]
        firsts += zip(c.large, c.large_offsets, strict=False)
        own = [f"{first}::{kind} + {NAMES.code}{i}" for i, first in firsts]
        return own + [f"{c.large_offsets[-1] + at}::{kind}" for at in range(len(c.sparse))]

    def _code_key(self, variables: Sequence[int]) -> str:
        c = self.collected
        return packed_sql([f"{NAMES.code}{v}" for v in variables], [c.slots[v] for v in variables])

    def _packed(self, table: Sequence[Factor]) -> Key:
        """The codes of a table's attributes: of one block, or of the block of each repeat."""
        keys = [self._code_key(block.variables) for block in table]
        sql = keys[0] if len(keys) == 1 else f"[{', '.join(keys)}]"
        return {"sql": sql, "alias": f"{NAMES.packed}{table[0].number}"}

    def _group_key(self, table: Sequence[Factor]) -> Key:
        """The number of the child's value, then the codes of the group's attributes."""
        c, number = self.collected, table[0].number
        size = max(c.keys_of(block.variables) for block in table)
        packed = f"k.{NAMES.packed}{number}" + ("[p.repeat + 1]" if len(table) > 1 else "")
        sql = packed_sql(["p.number", packed], [c.all_numbers, size])
        return {"sql": sql, "alias": f"{NAMES.key}{number}"}

    def _group_batch(self, scored: str, tables: Sequence[Sequence[Factor]]) -> str:
        factors = [table[0] for table in tables]
        sums = [
            " + ".join([f"s.{NAMES.score}{j}", *(f"f{f.number}.l_{j}" for f in factors)])
            for j in self._classes
        ]
        return joined_batch(scored, factors, sums, self.prefix, self.outer)

    # -- sparse terms ------------------------------------------------------------------------

    @property
    def _sparse_factors(self) -> tuple[Factor, Factor]:
        cells = next(f for f in self.factors if f.role == "cell")
        parents = next(f for f in self.factors if f.role == "parents")
        return cells, parents

    def _sparse_lists(self) -> list[Key]:
        """Keys of the cells and of the parents of all sparse terms; none where one is missing."""
        c, found = self.collected, []
        for factor, kind, offsets in zip(
            self._sparse_factors,
            (c.cell_type, c.parent_type),
            (c.cell_offsets, c.parent_offsets),
            strict=True,
        ):
            keys = []
            for term, offset in zip(c.sparse, offsets, strict=False):
                variables = (term.child, *term.parents) if factor.role == "cell" else term.parents
                key = f"{offset}::{kind} + ({self._code_key(variables)})"
                gone = [
                    f"{NAMES.code}{v} <> {code}"
                    for v in (term.child, *term.parents)
                    for code in silent_codes(c.gone[v])
                ]
                keys.append(f"CASE WHEN {' AND '.join(gone)} THEN {key} END" if gone else key)
            alias = f"{NAMES.packed}{factor.number}"
            found.append({"sql": f"[{', '.join(keys)}]", "alias": alias})
        return found

    def _sparse_items(self) -> list[Key]:
        """In the turn of a sparse term its keys, in others none."""
        c = self.collected
        own = c.n_turns - len(c.sparse)
        turn = f"k.{NAMES.turn}"
        items = [
            {
                "sql": f"CASE WHEN {turn} > {own} "
                f"THEN k.{NAMES.packed}{f.number}[{turn} - {own}] END",
                "alias": f"{NAMES.key}{f.number}",
            }
            for f in self._sparse_factors
        ]
        return [*items, {"sql": "p.unseen", "alias": NAMES.unseen}]

    def _sparse_batch(self, scored: str) -> str:
        cells, parents = self._sparse_factors
        key = f"s.{NAMES.key}{cells.number}"
        sums = []
        for j in self._classes:
            term = f"COALESCE(f{cells.number}.l_{j}, f{parents.number}.l_{j}, s.{NAMES.unseen})"
            sums.append(f"s.{NAMES.score}{j} + CASE WHEN {key} IS NULL THEN 0 ELSE {term} END")
        return joined_batch(scored, [cells, parents], sums, self.prefix, self.outer)
