"""Prequential evaluation: rows in the order they come, each batch first predicted, then learned."""

from __future__ import annotations

import dataclasses
import math
import statistics
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.data import Source, open_source
from sqlbn.data.sampling import staged
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.engines.sql import identifier
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import NoRowsError, OptionError, SqlbnWarning
from sqlbn.evaluation.auto_encoding import learn
from sqlbn.evaluation.held_out import evaluate_source
from sqlbn.evaluation.metrics import (
    HIGHER_IS_BETTER,
    RANKINGS,
    Evaluation,
    check_class,
    pooled,
    positive_class,
)
from sqlbn.learners.fit_options import FitOptions
from sqlbn.options.user_values import check_whole
from sqlbn.store.history import (
    FILES,
    HISTORY,
    condition_of,
    counted_files,
    stream_label,
    write_history,
)
from sqlbn.store.spec import ModelSpec
from sqlbn.updates.changes import forget, update
from sqlbn.updates.stored_model import StoredModel

if TYPE_CHECKING:
    import pyarrow as pa


def used_source(session: Session, source: Source, options: FitOptions) -> Source:
    """Only the columns that matter, from something that another connection can read in order."""
    names = options.columns_of(source)
    if source.row_key is None or not source.rescannable or not source.ordered:
        return staged(session, source, names)
    columns = {n: source.columns[n] for n in names}
    listed = ", ".join(identifier(n) for n in names)
    return Source(f"({source.select(listed)})", columns, source.label)


def batches(session: Session, source: Source, size: int) -> Iterator[pa.Table]:
    """The rows of a source in order, so many at a time."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    held = 0
    with session.beside(source.select("*"), min(size, session.limits.prequential_rows)) as reader:
        for piece in reader:
            waiting.append(piece)
            held += piece.num_rows
            while held >= size:
                table = pa.Table.from_batches(waiting)
                yield table.slice(0, size).combine_chunks()
                waiting, held = table.slice(size).to_batches(), held - size
    if held:
        yield pa.Table.from_batches(waiting).combine_chunks()


# Batches whose mean is the recent loss; earlier batches that the band is made of, at least and at
# most: what was learned long ago says little about now.
RECENT = 5
LEAST, MOST = 10, 50
# Without so many there is no drift to see.
LEAST_BATCHES = LEAST + RECENT + 1
# Half the width of the band in standard errors of the recent mean, and what is added while the
# band is made of few batches. Simulated, losses normal and steady: in a thousand batches 0.2
# warnings at 3.5, 0.08 at 4, none at 5.
WIDTH = 4.0
_FEW = 4.0


@dataclass(frozen=True)
class Verdict:
    """The recent loss, the upper end of its band (None while that is not known), and the news."""

    recent: float
    high: float | None
    drift: bool


class Band:
    """Watches the losses of batches one after the other; an increase out of the band is drift.

    After that the band is made anew: what was normal before is normal no longer.
    """

    def __init__(self) -> None:
        self._earlier: deque[float] = deque(maxlen=MOST)
        self._recent: deque[float] = deque(maxlen=RECENT)

    def observe(self, loss: float) -> Verdict:
        """The verdict on the batch with this loss."""
        if len(self._recent) == RECENT:
            self._earlier.append(self._recent[0])
        self._recent.append(loss)
        recent = statistics.fmean(self._recent)
        if len(self._earlier) < LEAST:
            return Verdict(recent, None, drift=False)
        error = statistics.stdev(self._earlier) / math.sqrt(RECENT)
        width = WIDTH * (1 + _FEW / len(self._earlier))
        high = statistics.fmean(self._earlier) + width * error
        drift = recent > high
        if drift:  # the batches of the change itself are no measure of what comes after it
            self._earlier.clear()
            self._recent.clear()
        return Verdict(recent, high, drift)


# It uses all that it counts, and nothing of it is chosen from the first batch alone.
STREAM_LEARNER = "a1de"


@dataclass(frozen=True)
class StreamBatch:
    """One batch: what the model of the rows before it made of it.

    `loss` is that of the batch, `running` that of all rows so far (of AUC and aoPRC the mean of the
    batches, by the weight of their rows), `recent` the mean of the last batches, `high` the upper
    end of the band that `recent` should stay in. Batches without a loss are left out. `positive` is
    the class that AUC, aoPRC and Matthews correlation are about.
    """

    batch: int
    rows_before: int
    rows: int
    skipped: int
    loss: float
    running: float
    recent: float
    high: float | None
    drift: bool
    positive: str | None = None


@dataclass(frozen=True)
class StreamOptions:
    """How a stream is cut and judged."""

    batch: int
    window: int | None
    loss: str
    positive: str | None = None

    def __post_init__(self) -> None:
        check_whole("batch", self.batch)
        check_whole("window", self.window or 0)
        if self.batch < 1:
            raise OptionError("give at least 1 row", batch=self.batch)
        if self.window is not None and self.window < self.batch:
            raise OptionError(f"give at least a batch, {self.batch} rows", window=self.window)


class Stream:
    """A model that follows a source batch by batch."""

    def __init__(
        self,
        session: Session,
        source: Source,
        options: FitOptions,
        how: StreamOptions,
        progress: Progress,
    ) -> None:
        self._session, self._options, self._how, self._progress = session, options, how, progress
        self._source = source
        self._label = stream_label(source.label)
        self._band, self._evaluations = Band(), list[Evaluation]()
        self._window: deque[tuple[Path, int]] = deque()
        self._positive: str | None = how.positive
        self.model: tuple[Workspace, ModelSpec] | None = None
        self.notes: dict[str, None] = {}

    def run(self) -> Iterator[StreamBatch]:
        """Every batch after the first, which is only learned."""
        seen = 0
        rows_source = used_source(self._session, self._source, self._options)
        for number, rows in enumerate(batches(self._session, rows_source, self._how.batch)):
            title = f"batch {number}, {seen:,} rows before it"
            with self._progress.stage("stream", title, rows.num_rows):
                found = self._test(number, seen, rows)
                self._train(rows)
            seen += rows.num_rows
            if found is not None:
                yield found
        if self.model is None:
            target = self._options.target
            raise NoRowsError(f"no row of {self._source.label} has a value in {target!r}")
        if self._how.positive is not None:
            check_class(self._how.positive, self.model[1].class_names)
        self._note_files()

    def _test(self, number: int, seen: int, rows: pa.Table) -> StreamBatch | None:
        if self.model is None:
            return None
        ranking, positive = self._how.loss in RANKINGS, self._positive_class()
        result = evaluate_source(
            *self.model, self._opened(rows), self._options.weight, ranking, positive
        )
        if math.isnan(loss := result.losses[self._how.loss]):
            return None
        # Classes may have come: sums of losses do not care.
        self._evaluations = [pooled([*self._evaluations, result])]
        higher_is_worse = self._how.loss not in HIGHER_IS_BETTER
        verdict = self._band.observe(loss if higher_is_worse else -loss)
        sign = 1 if higher_is_worse else -1
        return StreamBatch(
            batch=number,
            rows_before=seen,
            rows=result.rows,
            skipped=result.skipped,
            loss=loss,
            running=self._evaluations[0].losses[self._how.loss],
            recent=sign * verdict.recent,
            high=sign * verdict.high if verdict.high is not None else None,
            drift=verdict.drift,
            positive=positive,
        )

    def _positive_class(self) -> str | None:
        """The class asked for; else the one that was the rarer when there were two classes first,
        as long as there are two."""
        assert self.model is not None
        spec = self.model[1]
        if self._how.positive is not None or len(spec.class_names) != 2:
            return self._how.positive
        if self._positive not in spec.class_names:
            self._positive = positive_class(None, spec.class_names, spec.class_counts)
        return self._positive

    def _train(self, rows: pa.Table) -> None:
        quiet = Progress()
        if self.model is None:
            try:
                options = self._options.of_used_columns()
                self.model = learn(self._session, self._opened(rows), options, quiet)
            except NoRowsError:
                return
        else:
            self._change(update, self._opened(rows))
        if self._how.window is not None:
            self._slide(rows)

    def _slide(self, rows: pa.Table) -> None:
        """Take the oldest batches out when the window is full; they wait in scratch files."""
        import pyarrow.parquet as pq

        path = self._session.scratch_file("window", ".parquet")
        pq.write_table(rows, path)
        self._window.append((path, rows.num_rows))
        assert self._how.window is not None
        while sum(n for _, n in self._window) > self._how.window and len(self._window) > 1:
            oldest, _ = self._window.popleft()
            self._change(forget, replace(open_source(self._session, str(oldest)), files=()))
            oldest.unlink()

    def _change(self, change: Any, source: Source) -> None:
        assert self.model is not None
        old, spec = self.model
        labelled = replace(source, label=self._label)
        workspace, new_spec, done = change(StoredModel(old, spec), labelled, "", True, Progress())
        old.drop()
        self.model = workspace, new_spec
        self.notes |= dict.fromkeys(done.notes)

    def _opened(self, rows: pa.Table) -> Source:
        return replace(open_source(self._session, rows), label=self._label)

    def _note_files(self) -> None:
        """The files become part of the history, unless a window has forgotten some rows."""
        assert self.model is not None
        if self._how.window is not None:
            return
        workspace = self.model[0]
        steps = StoredModel(*self.model).steps
        query = self._source.query or self._options.query
        condition = condition_of(self._options.where, self._options.table, query)
        files = counted_files(self._source, condition)
        workspace.remove(HISTORY, FILES)
        write_history(workspace, [*steps[:-1], replace(steps[-1], files=files)])


def warn_of_drift(found: StreamBatch, measure: str) -> None:
    """Say that the recent loss has left its band."""
    warnings.warn(
        f"drift: the recent {measure} is {found.recent:.4f} at row {found.rows_before:,}, "
        f"outside of the {found.high:.4f} that the batches before it lead to expect",
        SqlbnWarning,
        stacklevel=3,
    )


def batches_table(batches: Sequence[StreamBatch]) -> pa.Table:
    """All batches as a table."""
    import pyarrow as pa

    types = {
        "int": pa.int64(),
        "float": pa.float64(),
        "float | None": pa.float64(),
        "bool": pa.bool_(),
        "str | None": pa.string(),
    }
    schema = pa.schema([(f.name, types[str(f.type)]) for f in dataclasses.fields(StreamBatch)])
    return pa.Table.from_pylist([dataclasses.asdict(b) for b in batches], schema)
