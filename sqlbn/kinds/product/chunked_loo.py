"""Leave-one-out in arrays, some rows at a time: what counts say of them, whoever has the rows.

Where array_loo.py finds the cells of all rows at once, here codes are looked up in the stored
counts, chunk by chunk: memory does not grow with the levels. Rows in Spark come by their codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sqlbn.counts.code_arrays import read_codes
from sqlbn.counts.families import FamilyCounts
from sqlbn.engines.limits import in_blocks
from sqlbn.engines.relations import Encoded
from sqlbn.engines.sql import select_sql
from sqlbn.kinds.losses import Loss
from sqlbn.kinds.product.array_loo import Array, ArrayLosses, RowBlock, RowShares
from sqlbn.kinds.product.product_loo import LeftOut
from sqlbn.kinds.product.raced_loo import PartRows, Rules, chain_bytes


def fits_chunks(counts: FamilyCounts, rows: Encoded) -> bool:
    """Whether the codes of all rows and the levels of the largest chain fit into memory."""
    memory, limits = counts.workspace.session.memory_bytes, rows.limits
    codes = rows.rows * (rows.n_attributes + 1) * limits.loo_code_bytes
    if codes > limits.loo_array_share * memory:
        return False
    return chain_bytes(counts) <= limits.race_share * memory


class ChunkedLoo:
    """Losses of KDB models over the first attributes of an order; see LeaveOneOut."""

    def __init__(self, rules: Rules, rows: Encoded, only_whole: bool = False) -> None:
        self._rules, self._rows = rules, rows
        d = len(rules.order)
        self._prefixes = range(d if only_whole else 0, d + 1)

    def surface(
        self,
        ks: Sequence[int],
        advance: Callable[[], None] = lambda: None,
        is_enough: Callable[[dict[Loss, Array]], bool] | None = None,
        wanted: Mapping[int, Sequence[int]] | None = None,
    ) -> dict[Loss, Array]:
        """For each loss an array (k' in the order of `ks`, number of attributes).

        All k' are looked at together, unless `is_enough` may save the greater ones.
        """
        rules, d = self._rules, len(self._rules.order)
        sums = ArrayLosses(rules.losses, len(ks), d + 1, rules.counts.n_classes)
        asked = wanted if wanted is not None else dict.fromkeys(ks, self._prefixes)
        codes, weights = self._codes()
        for group in [ks] if is_enough is None else [[k] for k in ks]:
            cells = [(k, n) for k in group for n in asked[k]]
            for part in self._parts(codes, weights) if cells else ():
                for (k, n), shares in part.told(cells, lambda shares: shares):
                    sums.add_shares(ks.index(k), n, shares, part.block.w)
            for _ in group:
                advance()
            done = ks.index(group[-1]) + 1
            if is_enough is not None and is_enough(sums.losses(done)):
                return sums.losses(done)
        return sums.losses(len(ks))

    def left_out_logs(self, k: int, place: str) -> LeftOut:
        """ln of the classes' ratios to a row's own after all attributes, in an order of rows."""
        codes, weights = self._codes(place)
        last, found = len(self._rules.order), list[Array]()
        for part in self._parts(codes, weights):
            found += [logs for _, logs in part.told([(k, last)], RowShares.own_logs)]
        return np.concatenate(found), codes[-1].astype(np.int64), weights

    def _codes(self, place: str | None = None) -> tuple[Sequence[Array], Array | None]:
        rows = self._rows
        if place is not None:
            rows = replace(rows, relation=f"({select_sql(rows.relation, order=place)})")
        session = self._rules.counts.workspace.session
        codes, w = read_codes(session, rows, range(rows.n_attributes))
        return codes, w if rows.weighted else None

    def _parts(self, codes: Sequence[Array], weights: Array | None) -> Iterator[PartRows]:
        """Chunks of the rows, of which all levels of some attributes fit into memory."""
        y = codes[-1].astype(np.int64)
        most = self._rows.limits.loo_chunk_values // self._rules.counts.n_classes
        for block in in_blocks(range(len(y)), max(1, most)):
            at = slice(block[0], block[-1] + 1)
            w = weights[at] if weights is not None else None
            rows = RowBlock.of(range(len(block)), y[at], w, self._rows.importance)
            yield PartRows(self._rules, [column[at] for column in codes], rows)
