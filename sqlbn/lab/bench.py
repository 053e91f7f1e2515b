"""A bench: every learner on the same folds of every data set; what is there is not run again."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlbn.data import Source
from sqlbn.encoding.codebook import column_sql
from sqlbn.engines import Session, Settings
from sqlbn.engines.progress import Progress
from sqlbn.engines.relations import ROW
from sqlbn.engines.row_engine import Persisted
from sqlbn.engines.session import start_session
from sqlbn.engines.sql import NAMES, identifier, select_sql
from sqlbn.errors import OptionError, SqlbnError, SqlbnWarning, opt
from sqlbn.evaluation.auto_encoding import learn
from sqlbn.evaluation.cross_validation import PLACE, deal
from sqlbn.evaluation.held_out import evaluate_source, losses_of
from sqlbn.evaluation.metrics import RANKINGS, Evaluation, positive_of_rows
from sqlbn.kinds.compiler import coded_rows
from sqlbn.kinds.losses import LEAST_PROBABILITY
from sqlbn.lab.plan import Contestant, DataSet, Plan
from sqlbn.lab.results_file import Cell, Fold, Results, stratum_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from sqlbn.lab.comparators import Predicted
    from sqlbn.learners.fit_options import FitOptions

# Opens the rows of a set; the API knows how.
Opener = Callable[[Session, str, "FitOptions"], Source]


def run(plan: Plan, path: Path, settings: Settings, open_rows: Opener, progress: Progress) -> None:
    """Run what is missing of a plan; the results file has a row for whatever could not be run."""
    clock = _Clock(plan)
    for place, data_set in enumerate(plan.sets):
        with start_session(replace(settings, seed=plan.seed), Progress()) as session:
            results = Results(session, path, write=True)
            try:
                if place == 0:
                    results.take_plan(plan)
                _Bench(plan, session, results, data_set, progress, clock).run(open_rows)
            finally:
                results.close()


class _Clock:
    """How many cells of a plan are done, and how long the rest may take."""

    def __init__(self, plan: Plan) -> None:
        self.cells = len(plan.sets) * len(plan.learners) * plan.repeats * plan.folds
        self.done, self._made, self._begun = 0, 0, time.perf_counter()

    def skip(self, cells: int) -> None:
        """Cells that need not be run."""
        self.done += cells

    def made(self) -> None:
        """A cell was run."""
        self.done, self._made = self.done + 1, self._made + 1

    def left(self) -> str:
        """The time that is left, if cells take as long as those so far."""
        if not self._made:
            return ""
        seconds = (time.perf_counter() - self._begun) / self._made * (self.cells - self.done)
        told = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
        return f", about {told} left"


@dataclass(frozen=True)
class _Bench:
    """The learners on one data set."""

    plan: Plan
    session: Session
    results: Results
    data_set: DataSet
    progress: Progress
    clock: _Clock

    def run(self, open_rows: Opener) -> None:
        """All cells that are missing; a learner that fails is noted, and the others go on."""
        plan, name = self.plan, self.data_set.name
        done = self.results.done()
        wanted = [
            (name, c.name, repeat, fold)
            for repeat in range(plan.repeats)
            for fold in range(plan.folds)
            for c in plan.learners
        ]
        missing = [cell for cell in wanted if cell not in done]
        self.clock.skip(len(wanted) - len(missing))
        if not missing:
            return
        title = f"{name}: {self.clock.done:,} of {self.clock.cells:,} cells{self.clock.left()}"
        with self.progress.stage(f"bench {name}", title, total=len(missing)):
            try:
                self._run_cells(open_rows, missing)
            except SqlbnError as error:  # the set itself
                for learner in plan.learners:
                    self.results.say(name, learner.name, [*[None] * 4, "refused", str(error)])
                self.clock.skip(len(missing))

    def _run_cells(self, open_rows: Opener, missing: Sequence[Cell]) -> None:
        plan, failed = self.plan, set[str]()
        base = Contestant("nb", "nb").fit_options(self.data_set, plan.options)
        source = open_rows(self.session, self.data_set.data, base)
        found = _Set.of(self.session, source, base, plan)
        for repeat in sorted({cell[2] for cell in missing}):
            seed = plan.seed + repeat
            with _quiet(), _dealt(self.session, source, base, seed) as dealt:
                for cell in (c for c in missing if c[2] == repeat):
                    learner = next(c for c in plan.learners if c.name == cell[1])
                    if learner.name in failed:
                        self.clock.skip(1)
                        continue
                    try:
                        self._run_cell(cell, learner, dealt, found, seed)
                        self.clock.made()
                    except (SqlbnError, ValueError, ImportError) as error:
                        failed.add(learner.name)
                        reason = str(error) or type(error).__name__
                        told = [*found.told, "refused", reason]
                        self.results.say(self.data_set.name, learner.name, told)
                        self.clock.skip(1)
                    self.progress.advance()
        for learner in plan.learners:
            if learner.name not in failed:
                told = [*found.told, "done", None]
                self.results.say(self.data_set.name, learner.name, told)

    def _run_cell(
        self, cell: Cell, learner: Contestant, dealt: Source, found: _Set, seed: int
    ) -> None:
        """One learner on one fold."""
        number = f"({PLACE} // {found.step}) % {self.plan.folds}"
        sampled = f"{PLACE} % {found.step} = 0"
        training = dealt.filtered(sampled, f"{number} <> {cell[3]}")
        test = dealt.filtered(sampled, f"{number} = {cell[3]}")
        kept: list[Persisted] = []

        def keep(rows: str) -> None:
            kept.append(self.session.row_engine.persist(rows, "predictions"))

        asked = keep if self.plan.predictions else None
        ranking = any(measure in RANKINGS for measure in self.plan.measures)
        try:
            if learner.comparator is None:
                options = learner.fit_options(self.data_set, self.plan.options)
                if not learner.options.keys() & {"columns", "exclude"}:
                    options = options.of_used_columns()
                _reset_peak()
                begun = time.perf_counter()
                workspace, spec = learn(self.session, training, options, Progress())
                fitted, peak = time.perf_counter() - begun, _peak()
                result = evaluate_source(
                    workspace, spec, test, options.weight, ranking, found.positive, asked
                )
                workspace.drop()
            else:
                _reset_peak()
                result = self._compared(learner, training, test, found, seed, asked, ranking)
                fitted, peak = result.seconds["fit"], _peak()
            rows = int(self.session.row_engine.row(training.select("count(*)"))[0])
            fold = Fold(rows, result.rows, result.losses, fitted, result.seconds["predict"], peak)
            self.results.add(cell, fold, kept[0].relation if kept else None)
        finally:
            for table in kept:
                self.session.row_engine.unpersist(table)

    def _compared(
        self,
        learner: Contestant,
        training: Source,
        test: Source,
        found: _Set,
        seed: int,
        keep: Callable[[str], None] | None,
        ranking: bool,
    ) -> Evaluation:
        """A comparator on the same rows, judged as ours are."""
        if found.options.weight is not None:
            raise OptionError(f"comparators take no {opt('weight')}")
        comparator = learner.made()
        comparator.check_installed()
        if comparator.takes_codes:
            rows, others = self._codes(training, test, found)
        else:
            rows, others = (_table(self.session, part, found) for part in (training, test))
        predicted = comparator.predicted(
            rows.drop_columns([ROW]),
            others.drop_columns([ROW]),
            found.target,
            seed,
            self.session.threads,
        )
        scores = _scores(predicted, others[found.target].to_pylist(), others[ROW])
        with self.session.registered(scores) as relation:
            result = losses_of(
                self.session,
                tuple(predicted.classes),
                select_sql(relation),
                ranking=ranking,
                positive=found.positive,
                keep=keep,
            )
        result.seconds |= {"fit": predicted.fit_seconds, "predict": predicted.predict_seconds}
        return result

    def _codes(self, training: Source, test: Source, found: _Set) -> tuple[pa.Table, pa.Table]:
        """Both parts with codes in place of values: cuts and categories of the training part."""
        options = found.options.of_used_columns()
        workspace, spec = learn(self.session, training, options, Progress())
        row_engine = self.session.row_engine
        try:
            scorer = spec.scorer(workspace.prefix, training.columns, row_engine.dialect)
            target = f"{column_sql('i', found.target)}::VARCHAR"
            extra = [(target, identifier(found.target)), (column_sql("i", ROW), ROW)]
            first, second = (
                row_engine.arrow(
                    coded_rows(scorer, replace(p, place=None).in_places(p.columns), extra)
                )
                for p in (training, test)
            )
            return _as_text(first), _as_text(second)
        finally:
            workspace.drop()


def _as_text(rows: pa.Table) -> pa.Table:
    """Codes are categories, not numbers."""
    import pyarrow as pa

    named = zip(rows.column_names, rows.columns, strict=True)
    return pa.table({name: c if name == ROW else c.cast(pa.string()) for name, c in named})


@dataclass(frozen=True)
class _Set:
    """What all learners on a set have in common."""

    options: FitOptions
    target: str
    columns: tuple[str, ...]
    rows: int
    classes: int
    positive: str | None
    step: int

    @classmethod
    def of(cls, session: Session, source: Source, options: FitOptions, plan: Plan) -> _Set:
        """Look at the rows; an error where no learner could learn from them."""
        target = source.column(options.target, "the target")
        columns, named = options.candidates(source), identifier(target)
        rows, classes = session.row_engine.row(
            source.filtered(f"{named} IS NOT NULL").select(f"count(*), count(DISTINCT {named})")
        )
        step = max(1, -(-rows // plan.quick_rows)) if plan.quick_rows else 1
        if classes < 2:
            raise OptionError(f"{target!r} has {classes} class; there is nothing to tell apart")
        if not columns:
            raise OptionError("there are no columns to learn from")
        if rows // step < plan.folds:
            raise OptionError(f"{rows // step:,} rows are too few", folds=plan.folds)
        positive = positive_of_rows(session, source, options, None)
        return cls(options, target, tuple(columns), rows, classes, positive, step)

    @property
    def told(self) -> list[object]:
        """Rows, attributes, classes, stratum."""
        return [self.rows, len(self.columns), self.classes, stratum_of(self.rows)]


@contextmanager
def _dealt(session: Session, source: Source, options: FitOptions, seed: int) -> Iterator[Source]:
    """The rows that have a class, in places by the class and the seed."""
    named = identifier(source.column(options.target, "the target"))
    labelled = source.filtered(f"{named} IS NOT NULL")
    dealt, kept = deal(session, labelled, options, seed, stratified=True)
    try:
        yield dealt
    finally:
        session.row_engine.unpersist(kept)


@contextmanager
def _quiet() -> Iterator[None]:
    """Nobody reads what every fold says of its columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SqlbnWarning)
        yield


def _table(session: Session, rows: Source, found: _Set) -> pa.Table:
    """The class as text, the attributes, and the key of each row."""
    target = identifier(found.target)
    items = ", ".join(
        [
            f"{target}::VARCHAR AS {target}",
            *map(identifier, found.columns),
            f"{rows.row_key} AS {ROW}",
        ]
    )
    return session.row_engine.arrow(rows.select(items))


def _scores(predicted: Predicted, truth: Sequence[str], keys: pa.ChunkedArray) -> pa.Table:
    """Predictions as the rows that losses are made of; an unknown class has the last code."""
    import numpy as np
    import pyarrow as pa

    codes = {name: code for code, name in enumerate(predicted.classes)}
    y = np.array([codes.get(name, len(codes)) for name in truth], dtype=np.int32)
    logs = np.log(np.maximum(predicted.probabilities, LEAST_PROBABILITY))
    columns = {NAMES.y: y, NAMES.w: np.ones(len(y), dtype=np.int64), ROW: keys}
    columns |= {f"{NAMES.score}{j}": logs[:, j] for j in range(logs.shape[1])}
    return pa.table(columns)


def _reset_peak() -> None:
    """Measure the peak of memory from here on, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def _peak() -> int | None:
    """The largest resident memory since; None where that is not known."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    peak = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")), None)
    return int(peak) * 1024 if peak is not None else None
