"""A bench as tables to read and to print: Markdown, CSV, LaTeX (booktabs)."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlbn.engines.sql import literal, select_sql
from sqlbn.errors import OptionError
from sqlbn.evaluation.metrics import HIGHER_IS_BETTER
from sqlbn.lab.comparing import ALL, STRATA, Losses, compared_losses
from sqlbn.lab.plan import Plan
from sqlbn.lab.results_file import Results
from sqlbn.lab.statistics import mean_ranks

FORMATS = ("markdown", "csv", "latex")
# Sets of one size that a table of their own is printed for; the results file has all.
_FEWEST = 5


@dataclass(frozen=True)
class Sheet:
    """Rows of text and numbers; in rows before the foot the best numbers are marked.

    `ranks` are the foot's last rows, with numbers of two decimals.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    foot: Sequence[Sequence[Any]] = ()
    ranks: Sequence[Sequence[Any]] = ()
    decimals: int = 4
    best: Callable[[Sequence[float]], float] | None = None

    @property
    def all_rows(self) -> list[Sequence[Any]]:
        """The rows and the foot."""
        return [*self.rows, *self.foot, *self.ranks]

    def cells(self) -> list[list[tuple[str, bool]]]:
        """Text and whether it is marked, of rows and foot."""
        found = []
        for place, row in enumerate(self.all_rows):
            decimals = self.decimals if place < len(self.rows) + len(self.foot) else 2
            shown = [_shown(value, decimals) for value in row]
            numbers = [v for v in row if isinstance(v, float) and not math.isnan(v)]
            mark = None
            if self.best is not None and place < len(self.rows) and numbers:
                mark = _shown(self.best(numbers), self.decimals)
            found.append(
                [
                    (text, isinstance(v, float) and text == mark)
                    for text, v in zip(shown, row, strict=True)
                ]
            )
        return found

    def text(self, form: str) -> str:
        """The table in a format."""
        return {"markdown": _markdown, "csv": _csv, "latex": _latex}[form](self)


def check_format(form: str) -> None:
    """An error that lists the formats."""
    if form not in FORMATS:
        raise OptionError(f"choose {', '.join(FORMATS)}", format=form)


def _shown(value: Any, decimals: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.{decimals}f}" if isinstance(value, float) else str(value)


def _markdown(table: Sheet) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"

    header = [table.title, *table.header[1:]] if table.title else list(table.header)
    lines = [line(header), line(["---", *["---:"] * (len(header) - 1)])]
    lines += [line([f"**{t}**" if best else t for t, best in row]) for row in table.cells()]
    return "\n".join(lines) + "\n"


def _csv(table: Sheet) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.header)
    for row in table.all_rows:
        writer.writerow(["" if v is None or v != v else v for v in row])
    return out.getvalue()


_SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def _latex(table: Sheet) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"{' & '.join(cells)} \\\\"

    cells = [
        [
            rf"\textbf{{{t.translate(_SPECIAL)}}}" if best else t.translate(_SPECIAL)
            for t, best in row
        ]
        for row in table.cells()
    ]
    body, foot = cells[: len(table.rows)], cells[len(table.rows) :]
    columns = "l" + "r" * (len(table.header) - 1)
    rule = [r"\midrule", *map(line, foot)] if foot else []
    return "\n".join(
        [
            rf"\begin{{table}}\caption{{{table.title.translate(_SPECIAL)}}}\centering",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            line([name.translate(_SPECIAL) for name in table.header]),
            r"\midrule",
            *map(line, body),
            *rule,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


# -- which tables there are -----------------------------------------------------------------------


def report(results: Results, plan: Plan, decimals: int) -> list[Sheet]:
    """A table a measure, of seconds, of wins, draws and losses, and of bias and variance."""
    found = [_of_measure(compared_losses(results, plan, m), decimals) for m in plan.measures]
    found.append(_of_measure(compared_losses(results, plan, "fit_seconds"), 3))
    for measure in plan.measures:
        found += _tallies(results, plan, measure)
    found += _decomposed(results, decimals)
    refused = results.rows(
        select_sql(
            results.name("runs"),
            "data_set, learner, reason",
            where="status = 'refused'",
            order="data_set, learner",
        )
    )
    if refused:
        found.append(Sheet("not run", ["set", "learner", "why"], refused))
    return [table for table in found if table.rows]


def _of_measure(losses: Losses, decimals: int) -> Sheet:
    sets, learners = losses.sets(), losses.learners
    values = [[losses.mean(s, c) for c in learners] for s in sets]
    rows: list[list[Any]] = [[s, *found] for s, found in zip(sets, values, strict=True)]
    foot: list[list[Any]] = []
    ranks: list[list[Any]] = []
    if sets:
        means = [math.fsum(column) / len(values) for column in zip(*values, strict=True)]
        foot, ranks = [["mean", *means]], _rank_lines(losses)
    best = max if losses.measure in HIGHER_IS_BETTER else min
    return Sheet(losses.measure, ["set", *learners], rows, foot, ranks, decimals, best)


def _rank_lines(losses: Losses) -> list[list[Any]]:
    """Mean ranks at the foot, of all sets and by size."""
    lines = []
    for stratum in STRATA:
        if sets := losses.sets(stratum):
            ranks = mean_ranks([[losses.signed(s, c) for c in losses.learners] for s in sets])
            what = "mean rank" if stratum == ALL else f"mean rank, {stratum} ({len(sets)})"
            lines.append([what, *ranks])
    return lines


def _tallies(results: Results, plan: Plan, measure: str) -> list[Sheet]:
    """Wins/draws/losses of the learner of the row against that of the column, by printed values."""
    where = f"measure = {literal(measure)} AND data_set IS NULL AND draws_by = 'printed'"
    listed = "stratum, one, other, wins, draws, losses, sign_p"
    found = results.rows(select_sql(results.name("comparisons"), listed, where=where))
    by_place = {(s, a, b): (w, d, x, p) for s, a, b, w, d, x, p in found}
    names, sizes = [c.name for c in plan.learners], compared_losses(results, plan, measure)
    tables = []
    for stratum in STRATA:
        if stratum != ALL and len(sizes.sets(stratum)) < _FEWEST:
            continue
        rows = [[a, *(_tally_text(by_place, stratum, a, b) for b in names[1:])] for a in names[:-1]]
        if any(cell for row in rows for cell in row[1:]):
            title = f"{measure}, wins/draws/losses (p of the sign test), {stratum}"
            tables.append(Sheet(title, ["", *names[1:]], rows))
    return tables


def _tally_text(by_place: dict[Any, Any], stratum: str, one: str, other: str) -> str:
    if (stratum, one, other) not in by_place:
        return ""
    wins, draws, losses, p = by_place[stratum, one, other]
    return f"{wins}/{draws}/{losses} ({p:.3f})"


def _decomposed(results: Results, decimals: int) -> list[Sheet]:
    """Bias and variance, means over the data sets."""
    rows = results.rows(
        select_sql(
            results.name("decompositions"),
            "loss || ', ' || method, learner, avg(error), avg(bias), avg(variance)",
            group="loss, method, learner",
            order="loss, method, learner",
        )
    )
    header = ["loss, method", "learner", "error", "bias", "variance"]
    return [Sheet("bias and variance", header, rows, decimals=decimals)] if rows else []
