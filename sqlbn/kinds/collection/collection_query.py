"""Products of sums in the scoring compiler: a row is unfolded into one a child.

Each of these rows adds up the child's terms, by joins on (child's value, other attributes); their
logarithms are added up by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlbn.engines.dialects import DUCKDB, Dialect
from sqlbn.engines.packing import key_type, packed_sql
from sqlbn.engines.sql import (
    NAMES,
    literal,
    relation_sql,
    render,
)
from sqlbn.kinds.collection.collected import START_TABLE, Collected
from sqlbn.kinds.product.factor_tables import Factor
from sqlbn.kinds.row_queries import (
    BATCH,
    Key,
    ValueList,
    any_values,
    carried_codes,
    distinct_rows,
    identity,
    joined_batch,
    rejoined,
)


@dataclass(frozen=True)
class CollectionQuery:
    """What a query needs to score rows with a collection whose tables are in a schema."""

    prefix: str | None
    log_prior: tuple[float, ...]
    factors: tuple[Factor, ...]
    collected: Collected
    outer: bool = False
    dialect: Dialect = DUCKDB

    @property
    def used(self) -> list[int]:
        """The attributes that scoring looks at."""
        return self.collected.used(self.factors)

    @property
    def _classes(self) -> range:
        return range(len(self.log_prior))

    def rows(self, coded: str, kept: Sequence[str] = ()) -> str:
        """Rows of a query with codes, with log scores in place of the codes; it is read twice.

        `kept` are its other columns, for dialects that have to list them.
        """
        keys = identity(self.used, self.collected.slots)
        different = distinct_rows(coded, self.used, keys, self.dialect)
        scored = self.scores(different, [key["alias"] for key in keys])
        n_classes = len(self.log_prior)
        return rejoined(coded, kept, self.used, keys, scored, n_classes, self.dialect)

    def scores(self, rows: str, carried: Sequence[str]) -> str:
        """Log scores of rows that have a number and codes; some more of their columns are kept."""
        scores = [f"{NAMES.score}{j}" for j in self._classes]
        if not self.collected.n_turns:
            priors = zip(self.log_prior, scores, strict=True)
            sums = [{"sql": literal(prior), "alias": score} for prior, score in priors]
            return self._added_up([NAMES.row], carried, sums, rows)
        terms, guarded = self._terms(rows, carried), self.collected.guarded
        if self.collected.by_child:
            sums = [{"sql": f"sum({score})", "alias": score} for score in scores]
            terms = self._added_up([NAMES.row, NAMES.child], carried, sums, terms)
        logs = [
            f"CASE WHEN {score} > 0 THEN ln({score}) ELSE 0 END" if guarded else f"ln({score})"
            for score in scores
        ]
        sums = [
            {"sql": f"{literal(prior)} + sum({log})", "alias": score}
            for prior, log, score in zip(self.log_prior, logs, scores, strict=True)
        ]
        return self._added_up([NAMES.row], carried, sums, terms)

    def _added_up(
        self, by: Sequence[str], carried: Sequence[str], sums: Sequence[Key], terms: str
    ) -> str:
        same = any_values(carried, self.dialect)
        return render("score/added_up", by=by, carried=same, sums=sums, terms=terms)

    # -- terms -------------------------------------------------------------------------------

    def _terms(self, rows: str, carried: Sequence[str]) -> str:
        """One row a row and turn, with the sums of a child's terms by class."""
        c = self.collected
        items = [{"sql": "p.child", "alias": NAMES.child}] if c.by_child else []
        items += [self._group_key(table) for table in self._tables]
        items += [{"sql": f"p.l_{j}", "alias": f"{NAMES.score}{j}"} for j in self._classes]
        packed = [key for table in self._tables for key in self._packed(table)]
        if c.sparse:
            items += self._sparse_items()
            packed += [key for keys in self._sparse_lists() for key in keys.columns(self.dialect)]
        starts = ValueList(NAMES.base, self._turns())
        scored = render(
            "score/unfold",
            names=NAMES,
            carried=carried,
            items=items,
            packed=[
                *packed,
                *starts.columns(self.dialect),
                *carried_codes([f"{NAMES.code}{v}" for v in self.used], self.dialect),
            ],
            turns=self.dialect.numbers(len(starts.items), NAMES.turn),
            start=starts.at(self.dialect, "k", f"k.{NAMES.turn}"),
            coded=rows,
            table=relation_sql(self.prefix, START_TABLE),
        )
        columns = [NAMES.row, *carried, *(item["alias"] for item in items)]
        for start in range(0, len(self._tables), BATCH):
            tables = self._tables[start : start + BATCH]
            scored, columns = self._group_batch(scored, columns, tables)
        return self._sparse_batch(scored, columns) if c.sparse else scored

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

    def _listed(self, table: Sequence[Factor]) -> ValueList:
        keys = [self._code_key(block.variables) for block in table]
        return ValueList(f"{NAMES.packed}{table[0].number}", keys)

    def _packed(self, table: Sequence[Factor]) -> list[Key]:
        """The codes of a table's attributes: of one block, or of the block of each repeat."""
        listed = self._listed(table)
        if len(table) == 1:
            return [{"sql": listed.items[0], "alias": listed.name}]
        return listed.columns(self.dialect)

    def _group_key(self, table: Sequence[Factor]) -> Key:
        """The number of the child's value, then the codes of the group's attributes."""
        c, number = self.collected, table[0].number
        size = max(c.keys_of(block.variables) for block in table)
        packed = f"k.{NAMES.packed}{number}"
        if len(table) > 1:
            packed = self._listed(table).at(self.dialect, "k", "p.repeat + 1")
        sql = packed_sql(["p.number", packed], [c.all_numbers, size])
        return {"sql": sql, "alias": f"{NAMES.key}{number}"}

    def _group_batch(
        self, scored: str, columns: Sequence[str], tables: Sequence[Sequence[Factor]]
    ) -> tuple[str, list[str]]:
        factors = [table[0] for table in tables]
        sums = [
            " + ".join([f"s.{NAMES.score}{j}", *(f"f{f.number}.l_{j}" for f in factors)])
            for j in self._classes
        ]
        return self._joined(scored, columns, factors, sums)

    def _joined(
        self, scored: str, columns: Sequence[str], factors: Sequence[Factor], sums: Sequence[str]
    ) -> tuple[str, list[str]]:
        return joined_batch(scored, columns, factors, sums, self.prefix, self.outer, self.dialect)

    # -- sparse terms ------------------------------------------------------------------------

    @property
    def _sparse_factors(self) -> tuple[Factor, Factor]:
        cells = next(f for f in self.factors if f.role == "cell")
        parents = next(f for f in self.factors if f.role == "parents")
        return cells, parents

    def _sparse_lists(self) -> list[ValueList]:
        """Keys of the cells and of the parents of all sparse terms; none where one is ignored."""
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
                present = [
                    f"{NAMES.code}{v} <> {code}"
                    for v in (term.child, *term.parents)
                    for code in c.ignored[v]
                ]
                keys.append(f"CASE WHEN {' AND '.join(present)} THEN {key} END" if present else key)
            found.append(ValueList(f"{NAMES.packed}{factor.number}", keys))
        return found

    def _sparse_items(self) -> list[Key]:
        """In the turn of a sparse term its keys, in others none."""
        c = self.collected
        own = c.n_turns - len(c.sparse)
        turn = f"k.{NAMES.turn}"
        items = [
            {
                "sql": f"CASE WHEN {turn} > {own} "
                f"THEN {keys.at(self.dialect, 'k', f'{turn} - {own}')} END",
                "alias": f"{NAMES.key}{f.number}",
            }
            for f, keys in zip(self._sparse_factors, self._sparse_lists(), strict=True)
        ]
        return [*items, {"sql": "p.unseen", "alias": NAMES.unseen}]

    def _sparse_batch(self, scored: str, columns: Sequence[str]) -> str:
        cells, parents = self._sparse_factors
        key = f"s.{NAMES.key}{cells.number}"
        sums = []
        for j in self._classes:
            term = f"COALESCE(f{cells.number}.l_{j}, f{parents.number}.l_{j}, s.{NAMES.unseen})"
            sums.append(f"s.{NAMES.score}{j} + CASE WHEN {key} IS NULL THEN 0 ELSE {term} END")
        return self._joined(scored, columns, [cells, parents], sums)[0]
