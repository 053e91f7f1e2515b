"""Prequential evaluation: rows in the order they come, each batch first predicted, then learned."""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlbn.draft import Draft
from sqlbn.engines import DuckDBEngine
from sqlbn.errors import NoRowsError, OptionError, SqlbnWarning
from sqlbn.evaluation.losses import HIGHER_IS_BETTER, Evaluation, pooled
from sqlbn.evaluation.positive import check_class, positive_class
from sqlbn.evaluation.ranking import RANKINGS
from sqlbn.evaluation.scoring import evaluate_source
from sqlbn.fitting import learn
from sqlbn.history import condition_of, counted_files, stream_label, write_history
from sqlbn.learners.fit_options import FitOptions
from sqlbn.living.batches import batches, used_source
from sqlbn.living.changing import forget, update
from sqlbn.living.drift import Band
from sqlbn.living.models import LivingModel
from sqlbn.options.user_values import check_whole
from sqlbn.progress import Progress
from sqlbn.sources import Source, open_source
from sqlbn.store.spec import ModelSpec

if TYPE_CHECKING:
    import pyarrow as pa


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
        engine: DuckDBEngine,
        source: Source,
        options: FitOptions,
        how: StreamOptions,
        progress: Progress,
    ) -> None:
        self._engine, self._options, self._how, self._progress = engine, options, how, progress
        self._source = source
        self._label = stream_label(source.label)
        self._band, self._evaluations = Band(), list[Evaluation]()
        self._window: deque[tuple[Path, int]] = deque()
        self._positive: str | None = how.positive
        self.model: tuple[Draft, ModelSpec] | None = None
        self.notes: dict[str, None] = {}

    def run(self) -> Iterator[StreamBatch]:
        """Every batch after the first, which is only learned."""
        seen = 0
        rows_source = used_source(self._engine, self._source, self._options)
        for number, rows in enumerate(batches(self._engine, rows_source, self._how.batch)):
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
                self.model = learn(self._engine, self._opened(rows), options, quiet)
            except NoRowsError:
                return
        else:
            self._change(update, self._opened(rows))
        if self._how.window is not None:
            self._slide(rows)

    def _slide(self, rows: pa.Table) -> None:
        """Take the oldest batches out when the window is full; they wait in scratch files."""
        import pyarrow.parquet as pq

        path = self._engine.scratch_file("window", ".parquet")
        pq.write_table(rows, path)
        self._window.append((path, rows.num_rows))
        assert self._how.window is not None
        while sum(n for _, n in self._window) > self._how.window and len(self._window) > 1:
            oldest, _ = self._window.popleft()
            self._change(forget, replace(open_source(self._engine, str(oldest)), files=()))
            oldest.unlink()

    def _change(self, change: Any, source: Source) -> None:
        assert self.model is not None
        old, spec = self.model
        labelled = replace(source, label=self._label)
        draft, new_spec, done = change(LivingModel(old, spec), labelled, "", True, Progress())
        old.drop()
        self.model = draft, new_spec
        self.notes |= dict.fromkeys(done.notes)

    def _opened(self, rows: pa.Table) -> Source:
        return replace(open_source(self._engine, rows), label=self._label)

    def _note_files(self) -> None:
        """The files become part of the history, unless a window has forgotten some rows."""
        assert self.model is not None
        if self._how.window is not None:
            return
        draft = self.model[0]
        steps = LivingModel(*self.model).steps
        query = self._source.query or self._options.query
        condition = condition_of(self._options.where, self._options.table, query)
        files = counted_files(self._source, condition)
        for table in ("history", "history_files"):
            draft.engine.execute(f"DROP TABLE {draft.table(table)}")
        write_history(draft, [*steps[:-1], replace(steps[-1], files=files)])


def warn_of_drift(found: StreamBatch, measure: str) -> None:
    """Say that the recent loss has left its band."""
    warnings.warn(
        f"drift: the recent {measure} is {found.recent:.4f} at row {found.rows_before:,}, "
        f"outside of the {found.high:.4f} that the batches before it lead to expect",
        SqlbnWarning,
        stacklevel=3,
    )
