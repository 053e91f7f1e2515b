"""Every option once: name, type, usual value, help, check, group, and the commands that take it.

The classes of keywords are what Python's functions take (`**options: Unpack[FitKeywords]`), so
that editors complete and check them; the program makes its flags of the same declarations, and
help/options.md is printed from them. Options of a learner are the arguments of its `__init__`
besides: registering one whose arguments are not here adds them (`add_option`).

Two options of one name in different commands (`--missing` of a fit and of a sample) are two
declarations. Nothing here may import a heavy library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypedDict

from sqlbn.options.option import (
    DATA,
    ENCODING,
    LEARNER,
    OUTPUT,
    RESOURCES,
    SEARCH,
    SMOOTHING,
    Option,
    above_zero,
    at_least,
    declared,
    probability_of_error,
    unknown,
)

# When parents are dropped, and what a row's weight means.
BACKOFFS = {
    "cell": "where the value was never seen with theirs, in leave-one-out as in prediction",
    "parents": "in prediction only where their values were never seen together, but in "
    "leave-one-out as cell: what is selected is selected for another rule than the one that "
    "predicts (the program of the method's authors)",
    "parents-both": "where their values were never seen together, in leave-one-out as in "
    "prediction",
}
# How levels of a chain become one estimate, and what of a product gets weights.
SMOOTHINGS = {
    "backoff": "the deepest level that was seen",
    "hierarchical": "every level is mixed with the one above it, by strengths that the counts tell",
    "auto": "the one with the smaller leave-one-out loss",
}
WEIGHTINGS = {
    "none": "a plain product",
    "attributes": "an exponent of each attribute",
    "levels": "one of each level of its chain",
    "auto": "what is best on rows that the weights were not fitted on",
}
EFFORTS = {
    "quick": "skdb as its paper has it, equal frequency",
    "normal": "eskdb of four members; encoding, smoothing and weights are chosen by rows that were "
    "left out",
    "best": "the same with up to sixteen",
}
# How many members an effort has where that is not said.
EFFORT_MEMBERS = {"normal": 4, "best": 16}
DEFAULT_EFFORT = "normal"
WEIGHT_KINDS = {
    "frequency": "a row of weight w stands for w equal rows; leave-one-out takes one of them out",
    "importance": "a row of weight w is one row that matters w; leave-one-out takes it out whole",
}
DEFAULT_LEARNER = "skdb"
ENSEMBLE_LEARNER = "eskdb"
STREAM_LEARNER = "a1de"
LONG_LEARNER = "nb"
LOSSES = ("rmse", "zero_one", "log_loss", "brier", "mcc")
BOUNDS = ("normal", "hoeffding")
ORDERS = ("schema", "mi", "gain")
DIALECTS = (
    "duckdb", "spark", "databricks", "postgres", "redshift", "snowflake", "bigquery", "trino",
    "presto", "athena", "clickhouse", "mysql", "tsql",
)  # fmt: skip
FORMATS = ("sql", "json", "bif", "pmml")
SEVERAL = "(a,b or repeat)"


def _explained(words: Mapping[str, str]) -> str:
    return "; ".join(f"{word}: {text}" for word, text in words.items())


# -- keywords that several verbs share ------------------------------------------------------------


class RowKeywords(TypedDict, total=False):
    """Which rows of the data are meant, and how they are read."""

    where: Annotated[
        str | None, Option("SQL condition over columns: only rows for which it holds.", DATA)
    ]
    table: Annotated[str | None, Option("Table of a DuckDB database file.", DATA)]
    query: Annotated[
        str | None,
        Option(
            "SELECT on a DuckDB database file; or without DATA on files that it names: "
            "SELECT *, delay > 15 AS late FROM 'flights/*.parquet'.",
            DATA,
        ),
    ]
    encoding: Annotated[
        str | None, Option("Of CSV files: utf-8, latin-1 or utf-16.", DATA, usual="utf-8")
    ]
    trust_sql: Annotated[
        bool,
        Option(
            "Take any SQL in --where and --query, also what reads other files or settings.",
            DATA,
            default=False,
        ),
    ]


class MachineKeywords(TypedDict, total=False):
    """What DuckDB may use."""

    memory_limit: Annotated[
        str | None,
        Option("Memory to use besides what the program itself takes, such as 1GB.", RESOURCES),
    ]
    threads: Annotated[
        int | None, Option("Threads the engine may use.", RESOURCES, check=at_least(1))
    ]
    temp_dir: Annotated[
        str | Path | None, Option("Folder for spill files (a private one inside it).", RESOURCES)
    ]
    sql_log: Annotated[
        str | None,
        Option(
            "Add every statement to this file as it runs, with its seconds; '-': standard error.",
            OUTPUT,
            flag="sql",
            metavar="FILE",
        ),
    ]


class EngineKeywords(MachineKeywords, total=False):
    """What reads the rows."""

    engine: Annotated[
        str | None,
        Option(
            "What reads the rows: duckdb, or spark, which needs PySpark and Java 17 "
            "(pip install 'sqlbn[spark]').",
            RESOURCES,
            usual="duckdb",
        ),
    ]
    master: Annotated[
        str | None,
        Option(
            "spark: where it runs: local[*], spark://…, yarn, or sc://… (Spark Connect, "
            "Databricks).",
            RESOURCES,
            usual="local[*]",
        ),
    ]
    spark_conf: Annotated[
        str | Sequence[str] | None,
        Option("spark: settings, as key=value (a=1,b=2 or repeat).", RESOURCES),
    ]
    cluster_dir: Annotated[
        str | None,
        Option(
            "spark: keep the encoded rows as Parquet in this folder of the cluster's storage; "
            "else its executors cache them.",
            RESOURCES,
        ),
    ]
    session: Annotated[
        object, Option("spark: a session that the caller has.", RESOURCES, only_python=True)
    ]
    limits: Annotated[
        object,
        Option("Tuning constants, a `Limits`: tests give others.", RESOURCES, only_python=True),
    ]


class SettingKeywords(EngineKeywords, total=False):
    """All that an engine is told."""

    disk_limit: Annotated[
        str | None, Option("Disk the spill files may use, such as 50GB.", RESOURCES)
    ]
    seed: Annotated[int, Option("Seed of samples and folds.", RESOURCES, default=0)]


class ReadingKeywords(RowKeywords, EngineKeywords, total=False):
    """Rows for a stored model."""


class ColumnKeywords(TypedDict, total=False):
    """Which columns are used, and as what."""

    columns: Annotated[
        str | Sequence[str] | None, Option(f"Use only these attributes {SEVERAL}.", DATA)
    ]
    exclude: Annotated[
        str | Sequence[str] | None, Option(f"Do not use these columns {SEVERAL}.", DATA)
    ]
    discretise: Annotated[
        str | None,
        Option(
            "How quantities are cut: ef (equal frequency), or by what tells the classes apart: "
            "mdl (entropy), modl (Bayesian; also groups categories and leaves out uninformative "
            "attributes); auto: the best of --encodings by cross-fitted losses, for learners.",
            ENCODING,
            usual="ef; snb and prepare: modl",
        ),
    ]
    bins: Annotated[
        int | None,
        Option("ef: intervals of a numeric column.", ENCODING, usual="5", check=at_least(2)),
    ]
    categorical: Annotated[
        str | Sequence[str] | None,
        Option(f"Treat these columns as categories {SEVERAL}.", ENCODING),
    ]
    numeric: Annotated[
        str | Sequence[str] | None,
        Option(f"Treat these columns as quantities {SEVERAL}.", ENCODING),
    ]
    keep: Annotated[
        str | Sequence[str] | None,
        Option(
            f"Use these columns though they are constant, identifiers or uninformative {SEVERAL}.",
            ENCODING,
        ),
    ]


class LabelKeywords(TypedDict, total=False):
    """Where the rows of a long table have their class."""

    labels: Annotated[
        str | object | None,
        Option(
            "With --long, or for a model of it: a table with the row ids and their class; to "
            "predict, the rows that are wanted. Without it the class is the value of the feature "
            "that --target names.",
            DATA,
            metavar="FILE",
        ),
    ]


class LongKeywords(LabelKeywords, total=False):
    """Rows that come as cells."""

    long: Annotated[
        str | Sequence[str] | None,
        Option(
            "The data is long and sparse, a row for every cell: its columns of row id, feature "
            "and, if there is one, value; a feature that a row has not is absent.",
            DATA,
            metavar="ROW,FEATURE[,VALUE]",
        ),
    ]
    features: Annotated[
        int | None,
        Option(
            "With --long: project features to so many: whole numbers modulo it, text hashed.",
            DATA,
            check=at_least(1),
        ),
    ]


class BoundKeywords(TypedDict, total=False):
    """How sure a choice must be before no more rows are read."""

    bound: Annotated[
        str | None,
        Option(
            "Read as many random rows as it takes to be sure of each choice, by the normal or the "
            "hoeffding bound. Learners: to find the parents of tan, kdb and skdb.",
            SEARCH,
            choices=BOUNDS,
        ),
    ]
    delta: Annotated[
        float | None,
        Option(
            "With --bound: probability of error of one comparison.",
            SEARCH,
            usual="1e-9",
            check=probability_of_error,
        ),
    ]
    delta_star: Annotated[
        float | None,
        Option(
            "With --bound, instead: that of all decisions together.",
            SEARCH,
            check=probability_of_error,
        ),
    ]
    tau: Annotated[
        float | None,
        Option(
            "With --bound: the indifference threshold, a difference of information in nats below "
            "which it does not matter which is chosen. Of skdb and eskdb without --bound: a "
            "difference of losses, for the race.",
            SEARCH,
            usual="0.005; of losses 0",
            check=above_zero,
        ),
    ]
    block: Annotated[
        int | None,
        Option(
            "With --bound: rows of the first sample; each further one has twice as many.",
            SEARCH,
            usual="10000",
            check=at_least(1, "row"),
        ),
    ]


class SmoothingKeywords(TypedDict, total=False):
    """How counts become probabilities."""

    m: Annotated[
        float | None,
        Option("m of the m-estimate, above 0.", SMOOTHING, usual="1", check=above_zero),
    ]
    estimate: Annotated[
        str | None,
        Option(
            "How counts become probabilities, m or laplace; not for skdb and ande.",
            SMOOTHING,
            usual="m; fan, superparent and collections: laplace",
            choices=("m", "laplace"),
        ),
    ]
    missing: Annotated[
        str | None,
        Option(
            "A missing value is one of its own (value), or what contains it is left out (ignore); "
            "not for skdb and ande.",
            SMOOTHING,
            usual="value; fan, superparent and collections: ignore",
            choices=("value", "ignore"),
        ),
    ]
    unseen: Annotated[
        str | None,
        Option(
            "A value that no training row has says nothing of the class (neutral), or counts as "
            "one with a count of 0, which favours rare classes (smoothed).",
            SMOOTHING,
            usual="neutral",
            choices=("neutral", "smoothed"),
        ),
    ]


class LearnerKeywords(TypedDict, total=False):
    """Options that only some learners take: the arguments of their `__init__`."""

    k: Annotated[
        int | None,
        Option(
            "kdb: parents an attribute may have.", LEARNER, usual="2", check=at_least(0, "parents")
        ),
    ]
    kmax: Annotated[
        int | None,
        Option(
            "skdb, eskdb: the largest number of parents tried.",
            LEARNER,
            usual="5",
            check=at_least(0, "parents"),
        ),
    ]
    members: Annotated[
        int | None,
        Option(
            "nb, tan, kdb, eskdb: how many members an ensemble has; cuts, orders and parents are "
            "drawn for each.",
            LEARNER,
            usual="eskdb: 8; others: 1, no ensemble",
            check=at_least(1, "member"),
        ),
    ]
    select: Annotated[
        str | None,
        Option(
            "Choose by leave-one-out. skdb, eskdb: both, attributes (k = kmax) or k; "
            "ande: attributes.",
            LEARNER,
            usual="skdb: both; ande: all are kept",
        ),
    ]
    loss: Annotated[
        str | None,
        Option(
            "With a selection: by rmse, zero_one, log_loss, brier or mcc.",
            LEARNER,
            usual="rmse",
            choices=LOSSES,
        ),
    ]
    n: Annotated[
        int | None,
        Option("ande: attributes that are parents at a time, 1 or 2.", LEARNER, usual="1"),
    ]
    subsumption: Annotated[
        bool,
        Option(
            "ande: leave out values that another value of the row implies.", LEARNER, default=False
        ),
    ]
    weighted: Annotated[
        bool,
        Option(
            "ande: weight parents by their mutual information with the class.",
            LEARNER,
            default=False,
        ),
    ]
    min_count: Annotated[
        int | None,
        Option(
            "With --subsumption: a value implies another if it was seen more often than this, "
            "and always with it.",
            LEARNER,
            usual="100",
            check=at_least(0, "rows"),
        ),
    ]
    attributes: Annotated[
        int | None,
        Option("ande: use only this many, the most informative ones.", LEARNER, check=at_least(1)),
    ]
    score: Annotated[
        str | None,
        Option(
            "fan: what links must raise, bic, aic or bayes.",
            LEARNER,
            usual="bic",
            choices=("bic", "aic", "bayes"),
        ),
    ]
    superparent: Annotated[
        str | None,
        Option(
            "superparent, spc: the attribute, or auto: the first by --order gain.",
            LEARNER,
            usual="auto",
        ),
    ]
    order: Annotated[
        str | None,
        Option(
            "fan, superparent, fanc, spc, spcr, tc: attributes in the order of the columns "
            "(schema), of their information about the class (mi), or of what they add to that of "
            "each other attribute, summed up (gain).",
            LEARNER,
            usual="schema; fan, superparent: mi",
            choices=ORDERS,
        ),
    ]
    parents_from_first: Annotated[
        int | None,
        Option(
            "fanc, spc, spcr, tc: only this many attributes, the first in order, may be parents.",
            LEARNER,
            check=at_least(1),
        ),
    ]
    parents: Annotated[
        Mapping[str, Any] | None,
        Option(
            "collection: a table [parents] with the parent sets of attributes, such as "
            'age = [[], ["sex"], {parents = ["sex", "race"], weight = 2.0}].',
            LEARNER,
            metavar="FILE.toml",
        ),
    ]
    map: Annotated[
        bool,
        Option(
            "snb: attributes of the best subset alone, each counting in full.",
            LEARNER,
            default=False,
        ),
    ]
    search: Annotated[
        Mapping[str, Any] | None,
        Option(
            "hgc, vfbn1, vfbn2: the options of the search, those of networks.learn.",
            LEARNER,
            only_python=True,
        ),
    ]


class FitKeywords(
    RowKeywords,
    LongKeywords,
    ColumnKeywords,
    LearnerKeywords,
    BoundKeywords,
    SmoothingKeywords,
    SettingKeywords,
    total=False,
):
    """All options of a fit besides its learner."""

    effort: Annotated[
        str | None,
        Option(
            f"Where no learner is named, what may be tried. {_explained(EFFORTS)}.",
            LEARNER,
            usual=DEFAULT_EFFORT,
            choices=tuple(EFFORTS),
        ),
    ]
    weight: Annotated[str | None, Option("A column of row weights, 0 or more.", DATA)]
    weight_kind: Annotated[
        str | None,
        Option(
            f"{_explained(WEIGHT_KINDS)}.",
            DATA,
            usual="frequency where all weights are whole numbers",
            choices=tuple(WEIGHT_KINDS),
        ),
    ]
    encodings: Annotated[
        str | Sequence[str] | None,
        Option("With auto: what is tried.", ENCODING, usual="ef:5,ef:10,ef:20,mdl,modl"),
    ]
    backoff: Annotated[
        str | None,
        Option(
            f"When parents are dropped. {_explained(BACKOFFS)}.",
            SMOOTHING,
            usual="cell",
            choices=tuple(BACKOFFS),
        ),
    ]
    smoothing: Annotated[
        str | None,
        Option(
            f"How many parents an estimate goes by. {_explained(SMOOTHINGS)}.",
            SMOOTHING,
            usual="backoff",
            choices=tuple(SMOOTHINGS),
        ),
    ]
    weights: Annotated[
        str | None,
        Option(
            "Exponents of the probabilities, fitted on rows left out of them. "
            f"{_explained(WEIGHTINGS)}.",
            SMOOTHING,
            usual="none",
            choices=tuple(WEIGHTINGS),
        ),
    ]
    loocv_sample: Annotated[
        int | None,
        Option(
            "With a selection: leave out only this many rows in turn.",
            LEARNER,
            check=at_least(1, "row"),
        ),
    ]
    race: Annotated[
        str | None,
        Option(
            "skdb, eskdb: in pass 3 models race over a growing part of many rows: who is surely "
            "worse than the best is out, who is left is evaluated on all rows (on); or all are "
            "(off).",
            LEARNER,
            usual="on",
            choices=("on", "off"),
        ),
    ]
    structure_sample: Annotated[
        int | None,
        Option("Find parents from this many rows.", SEARCH, check=at_least(1, "row")),
    ]


class PrepareKeywords(RowKeywords, ColumnKeywords, SettingKeywords, total=False):
    """Options about columns and rows, not about a learner."""

    weight: Annotated[str | None, Option("A column of row weights, 0 or more.", DATA)]


class RankKeywords(RowKeywords, ColumnKeywords, SettingKeywords, total=False):
    """As for `prepare`, but a row is a row: weights would count for more than a bound can know."""


class SearchKeywords(TypedDict, total=False):
    """How a search for a network scores, decides and is limited."""

    score: Annotated[
        str | None,
        Option("hgc: bdeu, k2 or bic.", SEARCH, usual="bdeu", choices=("bdeu", "k2", "bic")),
    ]
    ess: Annotated[
        float | None,
        Option("hgc: rows that BDeu's prior is worth.", SEARCH, usual="1", check=above_zero),
    ]
    bound: Annotated[
        str | None,
        Option("vfbn: normal or hoeffding.", SEARCH, usual="normal", choices=BOUNDS),
    ]
    delta: Annotated[
        float | None,
        Option(
            "vfbn: probability of error of one comparison.",
            SEARCH,
            usual="1e-9",
            check=probability_of_error,
        ),
    ]
    delta_star: Annotated[
        float | None,
        Option(
            "vfbn: instead, that of all decisions together.", SEARCH, check=probability_of_error
        ),
    ]
    tau: Annotated[
        float | None,
        Option(
            "vfbn: the indifference threshold, as a share of the mean log-likelihood without arcs.",
            SEARCH,
            usual="0.0005",
            check=lambda x: (
                None if 0 < x < 1 else "give a share between 0 and 1 (0.0005 is 0.05 %)"
            ),
        ),
    ]
    block: Annotated[
        int | None,
        Option("vfbn: rows between two looks.", SEARCH, usual="10000", check=at_least(100, "rows")),
    ]
    max_parameters: Annotated[
        int,
        Option("Free parameters a table may have.", SEARCH, default=10_000, check=at_least(1)),
    ]
    max_parents: Annotated[
        int | None, Option("Parents a variable may have.", SEARCH, check=at_least(0))
    ]
    max_changes: Annotated[
        int,
        Option(
            "How often the arc between two variables may change.",
            SEARCH,
            default=2,
            check=at_least(1),
        ),
    ]


class NetworkKeywords(
    SearchKeywords, RowKeywords, ColumnKeywords, SmoothingKeywords, SettingKeywords, total=False
):
    """What `networks.learn` and `networks.follow` take."""


class ScriptKeywords(TypedDict, total=False):
    """What a SQL script of a model is told."""

    dialect: Annotated[
        str | None,
        Option(
            f"sql: {', '.join(DIALECTS)}.",
            OUTPUT,
            usual="duckdb",
        ),
    ]
    table: Annotated[
        str | None, Option("sql: the table of rows to predict.", OUTPUT, usual="input")
    ]
    key: Annotated[
        str | Sequence[str] | None,
        Option(
            f"sql: columns of that table to give with the prediction {SEVERAL}.",
            OUTPUT,
            usual="all that the model looks at",
        ),
    ]
    view: Annotated[str | None, Option("sql: make a view of this name of the prediction.", OUTPUT)]


class ChangeKeywords(ReadingKeywords, LabelKeywords, total=False):
    """Rows that a stored model is changed by."""


class PredictKeywords(RowKeywords, LabelKeywords, total=False):
    """Which rows are scored, and what of them comes out."""

    exclude: Annotated[
        str | Sequence[str] | None, Option(f"Do not carry these columns through {SEVERAL}.", DATA)
    ]
    order_by: Annotated[
        str | Sequence[str] | None, Option(f"Sort the rows by these columns {SEVERAL}.", OUTPUT)
    ]
    strict: Annotated[
        bool,
        Option("Values that the model has never seen are an error.", OUTPUT, default=False),
    ]


# -- looking options up ---------------------------------------------------------------------------


@cache
def _of(keywords: type) -> dict[str, Option]:
    return declared(keywords)


def fit_options_known() -> dict[str, Option]:
    """All keywords of a fit, with those of learners that were registered later."""
    return {**_of(FitKeywords), **ADDED}


def names_of(keywords: type) -> tuple[str, ...]:
    """The names that a class of keywords has."""
    return tuple(_of(keywords))


LIST_OPTIONS = tuple(name for name, option in declared(FitKeywords).items() if option.is_list)


def checked(name: str, value: Any, keywords: type = FitKeywords) -> Any:
    """A value that passes the check of its option; None passes."""
    return _of(keywords)[name].checked(value)


def check_known(given: Iterable[str], keywords: type) -> None:
    """An error for the first keyword that there is not."""
    for name in given:
        if name not in _of(keywords):
            raise unknown(name, _of(keywords))


# Options of learners that do not come with sqlbn, by name.
ADDED: dict[str, Option] = {}


def add_option(option: Option) -> None:
    """Make an option known that only a registered learner has."""
    ADDED[option.name] = option
