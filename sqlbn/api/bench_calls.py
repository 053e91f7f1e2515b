"""`sqlbn.bench`: many learners on many data sets; the results are a file of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from sqlbn.api.call import only_settings, open_for_fit, told_by
from sqlbn.engines.limits import Limits
from sqlbn.engines.output_files import check_folder
from sqlbn.errors import OptionError
from sqlbn.lab.bench import run
from sqlbn.lab.comparing import compare
from sqlbn.lab.plan import Contestant, DataSet, Plan, learner_of, read_plan, set_of
from sqlbn.lab.results_file import opened
from sqlbn.lab.sheets import Sheet, report
from sqlbn.lab.sheets import check_format as check_format
from sqlbn.options.lists import split_list
from sqlbn.options.user_values import check_whole
from sqlbn.report.bench_plots import draw
from sqlbn.report.plots import check_pictures as check_pictures

if TYPE_CHECKING:
    from sqlbn.engines.progress import Progress
    from sqlbn.options.catalogue import MachineKeywords


@dataclass(frozen=True)
class Bench:
    """The results of a bench: a DuckDB file of tables, and what is printed of them."""

    path: Path
    plan: Plan
    tables: list[Sheet]

    def text(self, form: str = "markdown") -> str:
        """All tables in Markdown, CSV or LaTeX."""
        check_format(form)
        return "\n".join(table.text(form) for table in self.tables)

    def plot(self, folder: str | Path) -> list[Path]:
        """Draw what there is into a folder, and say which files were made."""
        with opened(self.path, write=False) as results:
            return draw(results, self.plan, Path(folder))

    def arrow(self, table: str) -> Any:
        """A table of the file: runs, folds, predictions, comparisons, ranks, decompositions."""
        with opened(self.path, write=False) as results:
            return results.arrow(table)


def bench(
    plan: str | Path | None = None,
    *,
    sets: str | DataSet | Sequence[str | DataSet] | None = None,
    learners: str | Contestant | Sequence[str | Contestant] | None = None,
    out: str | Path = "bench.duckdb",
    repeats: int | None = None,
    folds: int | None = None,
    seed: int | None = None,
    measures: str | Sequence[str] | None = None,
    predictions: bool | None = None,
    quick: bool = False,
    decimals: int = 4,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Unpack[MachineKeywords],
) -> Bench:
    """Every learner on the same folds of every data set, with ranks and tests.

    What is to be run stands in a TOML file, or in `sets` ('adult.parquet:class') and `learners`
    ('kdb:2', 'normal', 'lightgbm'); both add up. Cells that are in `out` are not run again. `quick`
    takes about 1,000 rows of every set.
    """
    asked = read_plan(Path(plan)) if plan is not None else Plan((), ())
    given = {"repeats": repeats, "folds": folds, "seed": seed, "predictions": predictions}
    for key, value in (*given.items(), ("decimals", decimals)):
        if value is not None:
            check_whole(key, value)
    changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if measures is not None:
        changes["measures"] = tuple(_words(measures))
    if quick:
        changes["quick_rows"] = Limits.bench_quick_rows
    asked = replace(
        asked,
        sets=(*asked.sets, *(s if isinstance(s, DataSet) else set_of(s) for s in _words(sets))),
        learners=(
            *asked.learners,
            *(c if isinstance(c, Contestant) else learner_of(c) for c in _words(learners)),
        ),
        **changes,
    ).checked()
    if not 1 <= decimals <= 12:
        raise OptionError("give 1 to 12", decimals=decimals)
    path = Path(out)
    check_folder(path, "out")
    run(asked, path, only_settings(options), open_for_fit, told_by(quiet, progress))
    with opened(path, write=True) as results:
        compare(results, asked, decimals)
        return Bench(path, asked, report(results, asked, decimals))


def _words(given: Any) -> list[Any]:
    """Names of a list, or of a text with commas."""
    if given is None:
        return []
    items = [given] if isinstance(given, str | DataSet | Contestant) else list(given)
    return [w for item in items for w in (split_list(item) if isinstance(item, str) else [item])]
