"""`sqlbn.networks.follow`: a network over a window that slides along rows in their order."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sqlbn.data import Source, open_source
from sqlbn.encoding.encoded import discard
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.sql import select_sql
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import NoRowsError, OptionError, opt
from sqlbn.learners.fit_options import FitOptions
from sqlbn.networks.likelihood import coded_rows
from sqlbn.pipeline import Pattern, fit_with_loo
from sqlbn.search.decisions import ArcChange, Decision, Graph, Log, Task
from sqlbn.search.methods import FoundNetwork, entropy
from sqlbn.search.search_options import SearchOptions
from sqlbn.search.window import FollowedGraph
from sqlbn.store.history import stream_label
from sqlbn.store.meta import add_meta
from sqlbn.store.spec import ModelSpec, made_spec
from sqlbn.structure.shape import Shape, Structure
from sqlbn.updates.stored_model import encoding_of
from sqlbn.updates.stream import batches, used_source

if TYPE_CHECKING:
    import pyarrow as pa

Array = npt.NDArray[Any]
# Over a long time the arc between two variables may come and go as often as the world changes.
_NO_LIMIT = 10**9


@dataclass(frozen=True)
class FollowedBlock:
    """One block: what the network before it made of it, and what it changed.

    `log_likelihood` is the mean of ln P(row), given the class where there is one.
    """

    block: int
    rows_before: int
    rows: int
    log_likelihood: float
    changes: tuple[str, ...]
    arcs: int


class Following:
    """Reads the stream, codes its rows, keeps the rows of the window in scratch files."""

    def __init__(
        self,
        session: Session,
        source: Source,
        options: FitOptions,
        search: SearchOptions,
        window: int,
        progress: Progress,
    ) -> None:
        self._session, self._source, self._window = session, source, window
        self._options, self._search, self._progress = options, search, progress
        self._kept: deque[tuple[Path, int]] = deque()
        self._log = Log()
        self._first: tuple[Workspace, ModelSpec] | None = None
        self._graph: FollowedGraph | None = None

    def run(self) -> Iterator[FollowedBlock]:
        """Every block behind the first window."""
        rows = used_source(self._session, self._source, self._options)
        seen, number = 0, 0
        for table in batches(self._session, rows, self._search.block_rows):
            if self._graph is None:
                self._keep(table)
                seen += table.num_rows
                if seen >= self._window:
                    self._begin()
                continue
            number += 1
            title = f"block {number}, {seen:,} rows before it"
            with self._progress.stage("follow", title, table.num_rows):
                yield self._step(number, seen, table)
            seen += table.num_rows
        if self._graph is None:
            if not seen:
                raise NoRowsError(f"{self._source.label} has no row to learn from")
            self._begin()

    def _keep(self, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        path = self._session.scratch_file("window", ".parquet")
        pq.write_table(table, path)
        self._kept.append((path, table.num_rows))

    def _rows_of(self, *paths: Path) -> Source:
        """The rows of scratch files, which are no part of a model's history."""
        opened = open_source(self._session, [str(path) for path in paths])
        return replace(opened, files=(), label=stream_label(self._source.label))

    # -- the first window ----------------------------------------------------------------------

    def _begin(self) -> None:
        """A network of the first window, and its rows as blocks of codes."""
        whole = self._rows_of(*(path for path, _ in self._kept))
        workspace, spec, _ = fit_with_loo(
            self._session, whole, self._options.of_used_columns(), self._progress
        )
        self._first = workspace, spec
        names = [book.name for book in spec.books]
        for _, child, action, above, *told in workspace.read("decisions", order=("step",)):
            parent = None if above is None else names.index(above)
            change = ArcChange(action, names.index(child), parent)
            self._log.decisions.append(Decision(change, *told))
        self._log.rows_read = int(spec.meta["structure_rows"])
        coded = [self._codes(self._rows_of(path)) for path, _ in self._kept]
        self._graph = FollowedGraph(self._task(spec, coded[0]), self._found_graph(spec))
        for block in coded:
            self._graph.add(block)

    def _task(self, spec: ModelSpec, block: Array) -> Task:
        scorer_cards = (*(book.slots for book in spec.scored_books), len(spec.class_names))
        width = self._window * block.itemsize * len(scorer_cards)
        room = self._session.limits.window_share * self._session.memory_bytes
        if width > room:
            raise OptionError(
                f"its codes take {width / 2**20:,.0f} MB of the "
                f"{room / 2**20:,.0f} MB there is for them; make it smaller, or raise "
                f"{opt('memory_limit')}",
                window=self._window,
            )
        fixed = (len(scorer_cards) - 1,) if spec.has_class else ()
        unit = entropy(block, scorer_cards, fixed)
        limits = replace(self._search, max_changes=_NO_LIMIT).limits(scorer_cards, scorer_cards[-1])
        memory = int(self._session.limits.candidate_share * self._session.memory_bytes)
        d = len(spec.books)
        steps = d * (d - 1) // 2 * self._search.max_changes + d
        rule = self._search.rule(unit, steps)
        return Task(scorer_cards, fixed, rule, limits, memory, self._session.limits)

    def _found_graph(self, spec: ModelSpec) -> Graph:
        graph = Graph(len(spec.books))
        for child, parents in enumerate(spec.parents):
            for parent in parents:
                graph.apply(ArcChange("add", child, parent))
        return graph

    def _codes(self, source: Source) -> Array:
        """The rows as an array with a line for every variable; rows of unknown class are left out.

        Codes that were not in the first window fall together into one more.
        """
        assert self._first is not None
        workspace, spec = self._first
        encoded = coded_rows(self._session, source, spec.scorer(workspace.prefix, source.columns))
        try:
            columns = [f"x{i}" for i in range(len(spec.books))] + ["y"]
            found = self._session.arrays(
                select_sql(
                    encoded.relation, ", ".join(columns), where=f"y < {len(spec.class_names)}"
                )
            )
        finally:
            discard(self._session, encoded)
        kind = np.min_scalar_type(max(encoded.cards))
        return np.vstack([found[c].astype(kind) for c in columns])

    # -- what comes then -----------------------------------------------------------------------

    def _step(self, number: int, seen: int, table: pa.Table) -> FollowedBlock:
        assert self._graph is not None
        self._keep(table)
        block = self._codes(self._rows_of(self._kept[-1][0]))
        n = block.shape[1]
        likelihood = self._graph.tables.log_likelihood(block) if n else math.nan
        self._graph.add(block)
        while sum(rows for _, rows in self._kept) > self._window and len(self._kept) > 1:
            path, _ = self._kept.popleft()
            path.unlink()
            self._graph.forget()
        self._log.rows_read += n
        decisions = self._graph.review(self._log.rows_read)
        self._log.decisions += decisions
        graph = self._graph.graph
        return FollowedBlock(
            number,
            seen,
            n,
            likelihood,
            tuple(self._told(d.change) for d in decisions),
            sum(map(len, graph.parents)),
        )

    def _told(self, change: ArcChange) -> str:
        assert self._first is not None
        assert change.parent is not None
        books = self._first[1].books
        sign = "+" if change.action == "add" else "-"
        return f"{sign} {books[change.parent].name} -> {books[change.child].name}"

    def model(self) -> tuple[Workspace, ModelSpec]:
        """The network of the last window, with the log of all decisions."""
        assert self._graph is not None
        assert self._first is not None
        graph, (first, spec) = self._graph.graph, self._first
        structure = Structure(tuple(graph.order()), tuple(graph.parents))
        pattern = Pattern(encoding_of(first, spec), Shape.whole(structure))
        whole = self._rows_of(*(path for path, _ in self._kept))
        options = self._options.of_used_columns()
        workspace, _, _ = fit_with_loo(self._session, whole, options, self._progress, pattern)
        first.drop()
        names = [book.name for book in spec.books]
        self._log.write(workspace, names)
        found = FoundNetwork(structure, self._log, self._graph.rule)
        add_meta(workspace, {"window": self._window, **found.chosen})
        return workspace, made_spec(workspace)
