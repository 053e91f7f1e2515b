"""What is known of columns, models and statements: prepare, rank, models, drop, SQL to read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from sqlbn.api.call import open_for_fit, split_options, started, told_by
from sqlbn.api.frames import with_target
from sqlbn.encoding.learn_codebooks import AUTO
from sqlbn.engines import Session
from sqlbn.engines.progress import Progress
from sqlbn.errors import OptionError, opt
from sqlbn.evaluation.attribute_ranking import Ranking, rank_attributes
from sqlbn.evaluation.univariate import Preparation, report_variables
from sqlbn.learners.fit_options import checked_rows
from sqlbn.options.catalogue import PrepareKeywords, RankKeywords, fit_options_known, names_of
from sqlbn.options.option import unknown
from sqlbn.report.sql_text import Step, fit_steps, predict_statement
from sqlbn.search.bounds import given_rule
from sqlbn.store import open_store
from sqlbn.store.meta import UNREGISTERED, decoded_meta, meta_problem

if TYPE_CHECKING:
    from sqlbn.learners import Learner
    from sqlbn.options.catalogue import FitKeywords, RowKeywords

_PREPARE_METHOD = "modl"


def models(store: str | Path) -> dict[str, dict[str, Any]]:
    """The models in a store: for each name its meta table.

    One that cannot be read also says why, under `damaged`.
    """
    with Session() as session:
        metas = open_store(store).metas(session)
    found = {name: decoded_meta(meta) for name, meta in metas.items()}
    for name, meta in metas.items():
        problem = meta_problem(meta)
        if problem and not problem.endswith(UNREGISTERED):
            found[name]["damaged"] = problem
    return found


def drop(store: str | Path, name: str) -> None:
    """Remove a model from a store."""
    with Session() as session:
        open_store(store).drop(session, name)


def prepare(
    data: Any = None,
    target: Any = None,
    *,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Unpack[PrepareKeywords],
) -> Preparation:
    """Intervals and groups of every column, and how much they tell about `target`.

    `options` are those of `sqlbn.fit` that speak of columns and rows; `discretise` is modl where it
    is not given.

    >>> import pyarrow as pa
    >>> hands = pa.table({"suit": ["h", "s"] * 40, "wins": ["yes", "no"] * 40})
    >>> prepare(hands, "wins").variables.select(["attribute", "parts"]).to_pylist()
    [{'attribute': 'suit', 'parts': 2}]
    """
    data, target = with_target(data, target)
    _check_for("prepare", options, names_of(PrepareKeywords))
    method = _PREPARE_METHOD if options.get("bins") is None else "ef"
    settings, chosen = split_options(target, "nb", {"discretise": method, **options})
    progress = told_by(quiet, progress)
    with started(settings, progress, data) as session:
        return report_variables(session, open_for_fit(session, data, chosen), chosen, progress)


def rank(
    data: Any = None,
    target: Any = None,
    top: int = 10,
    *,
    bound: str | None = None,
    delta: float | None = None,
    delta_star: float | None = None,
    tau: float | None = None,
    block: int | None = None,
    quiet: bool = True,
    progress: Progress | None = None,
    **options: Unpack[RankKeywords],
) -> Ranking:
    """The `top` attributes with the highest mutual information with `target`.

    With a `bound` (normal, hoeffding) it is found from random rows, as few as make sure which
    attributes these are; their order among themselves is that of the rows read. Cut points and
    categories come from these rows too. Further `options` are those of `sqlbn.prepare`, but no
    weight.

    >>> import pyarrow as pa
    >>> hands = pa.table({"deck": [1, 2] * 20, "suit": ["h", "s", "s", "h"] * 10,
    ...                   "wins": ["no", "yes"] * 20})
    >>> [found.attribute for found in rank(hands, "wins", top=1).attributes]
    ['deck']
    """
    data, target = with_target(data, target)
    _check_for("rank", options, names_of(RankKeywords))
    if top < 1:
        raise OptionError("give at least 1", top=top)
    rule = given_rule(bound, delta, delta_star, tau, block)
    settings, chosen = split_options(target, "nb", options)
    progress = told_by(quiet, progress)
    with started(settings, progress, data) as session:
        source = open_for_fit(session, data, chosen)
        return rank_attributes(session, source, chosen, top, rule, progress)


def _check_for(verb: str, options: Any, valid: tuple[str, ...]) -> None:
    """Refuse options of a fit that say nothing about columns and rows."""
    for key in options:
        if key not in valid and (key in fit_options_known() or key == "learner"):
            raise OptionError(
                f"{opt(key)} is not for {verb}, which learns no model; it takes {', '.join(valid)}"
            )
        if key not in valid:
            raise unknown(key, valid)
    if options.get("discretise") == AUTO:
        raise OptionError(
            f"{opt('discretise', 'auto')} needs a learner; {verb} takes ef, mdl or modl"
        )


def fit_statements(
    data: Any,
    target: str,
    learner: str | Learner | None = None,
    **options: Unpack[FitKeywords],
) -> list[Step]:
    """Titles and statements of a fit.

    The columns are looked at, because the encoding depends on them; nothing is encoded or counted.
    Where the structure depends on counts, the statements of pass 2 are those of a fit in which no
    attribute has a parent.
    """
    settings, chosen = split_options(target, learner, options)
    if chosen.method == AUTO:
        raise OptionError(
            f"{opt('discretise', 'auto')} decides after several fits; name the encoding to see "
            "its statements"
        )
    if chosen.bound is not None:
        raise OptionError(
            f"{opt('bound')} decides what to count while it counts; without it all is counted"
        )
    with Session(settings) as session:
        return fit_steps(session, open_for_fit(session, data, chosen), chosen)


def prediction_query(
    store: str | Path, name: str, data: Any, **options: Unpack[RowKeywords]
) -> str:
    """The query of a prediction; its tables are found from the model's schema in USE."""
    return predict_statement(store, name, data, **checked_rows(dict(options)))
