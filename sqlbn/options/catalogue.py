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
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypedDict

from sqlbn.options.option import (
    DATA,
    ENCODING,
    EVALUATION,
    LEARNER,
    NETWORK,
    OUTPUT,
    RESOURCES,
    SEARCH,
    SMOOTHING,
    STORE,
    Option,
    above_zero,
    at_least,
    declared,
    probability,
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
WEIGHT_KINDS = {
    "frequency": "a row of weight w stands for w equal rows; leave-one-out takes one of them out",
    "importance": "a row of weight w is one row that matters w; leave-one-out takes it out whole",
}
DEFAULT_LEARNER = "skdb"
STREAM_LEARNER = "a1de"
LOSSES = ("rmse", "zero_one", "log_loss", "brier", "mcc")
BOUNDS = ("normal", "hoeffding")
ORDERS = ("schema", "mi", "gain")
DIALECTS = (
    "duckdb", "spark", "databricks", "postgres", "redshift", "snowflake", "bigquery", "trino",
    "presto", "athena", "clickhouse", "mysql", "tsql",
)  # fmt: skip
FORMATS = ("sql", "json", "bif", "pmml")
_SEVERAL = "(a,b or repeat)"


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
        str | None, Option("Memory the engine may use, such as 1GB.", RESOURCES)
    ]
    threads: Annotated[
        int | None, Option("Threads the engine may use.", RESOURCES, check=at_least(1))
    ]
    temp_dir: Annotated[
        str | Path | None, Option("Folder for spill files (a private one inside it).", RESOURCES)
    ]
    sql: Annotated[
        str | Path | None,
        Option(
            "File to which every statement is added as it runs, with its stage and seconds, and "
            "whether it failed; - is standard error.",
            RESOURCES,
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
        str | Sequence[str] | None, Option(f"Use only these attributes {_SEVERAL}.", DATA)
    ]
    exclude: Annotated[
        str | Sequence[str] | None, Option(f"Do not use these columns {_SEVERAL}.", DATA)
    ]
    discretise: Annotated[
        str | None,
        Option(
            "How quantities are cut: ef (equal frequency), or by what tells the classes apart: "
            "mdl (entropy), modl (Bayesian; also groups categories and leaves out uninformative "
            "attributes); auto: the best of --encodings by leave-one-out, for learners.",
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
        Option(f"Treat these columns as categories {_SEVERAL}.", ENCODING),
    ]
    numeric: Annotated[
        str | Sequence[str] | None,
        Option(f"Treat these columns as quantities {_SEVERAL}.", ENCODING),
    ]
    keep: Annotated[
        str | Sequence[str] | None,
        Option(
            f"Use these columns though they are constant, identifiers or uninformative {_SEVERAL}.",
            ENCODING,
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
            "which it does not matter which is chosen.",
            SEARCH,
            usual="0.005",
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
            "skdb: the largest number of parents tried.",
            LEARNER,
            usual="5",
            check=at_least(0, "parents"),
        ),
    ]
    select: Annotated[
        str | None,
        Option(
            "Choose by leave-one-out. skdb: both, attributes (k = kmax) or k; ande: attributes.",
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
    ColumnKeywords,
    LearnerKeywords,
    BoundKeywords,
    SmoothingKeywords,
    SettingKeywords,
    total=False,
):
    """All options of a fit besides its learner."""

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
        Option("With auto: what is tried.", ENCODING, usual="ef:5,ef:10,ef:20,ef:50,mdl,modl"),
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
    loocv_sample: Annotated[
        int | None,
        Option(
            "With a selection: leave out only this many rows in turn.",
            LEARNER,
            check=at_least(1, "row"),
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
            f"sql: columns of that table to give with the prediction {_SEVERAL}.",
            OUTPUT,
            usual="all that the model looks at",
        ),
    ]
    view: Annotated[str | None, Option("sql: make a view of this name of the prediction.", OUTPUT)]


class PredictKeywords(RowKeywords, total=False):
    """Which rows are scored, and what of them comes out."""

    exclude: Annotated[
        str | Sequence[str] | None, Option(f"Do not carry these columns through {_SEVERAL}.", DATA)
    ]
    order_by: Annotated[
        str | Sequence[str] | None, Option(f"Sort the rows by these columns {_SEVERAL}.", OUTPUT)
    ]
    strict: Annotated[
        bool,
        Option("Values that the model has never seen are an error.", OUTPUT, default=False),
    ]


# -- arguments that commands have beside their keywords -------------------------------------------

DATA_ARGUMENT = Option(
    "Parquet or CSV files, patterns ('lake/*.parquet'), hive folders, a Delta or Iceberg table, or "
    "a DuckDB file; nothing where --query names its files.",
    DATA,
    argument=True,
    metavar="DATA...",
)


class _Data:
    data: Annotated[list[str], DATA_ARGUMENT]


class _Target:
    target: Annotated[str, Option("The column to predict.", DATA, short="-t", required=True)]


class _Traceback:
    traceback: Annotated[
        bool,
        Option("Show where an error comes from.", OUTPUT, default=False, only_program=True),
    ]


class _Talk(_Traceback):
    quiet: Annotated[bool, Option("No progress, no warnings.", OUTPUT, default=False, short="-q")]


class _Json:
    json: Annotated[
        bool, Option("Print JSON for programs.", OUTPUT, default=False, only_program=True)
    ]


class _Store:
    store: Annotated[
        str,
        Option(
            "The DuckDB file that holds the models; or a folder or URL with models as Parquet "
            "tables (fit --store-table).",
            STORE,
            default="models.duckdb",
            short="-s",
        ),
    ]


class _Model:
    name: Annotated[
        str, Option("The model's name in the store.", STORE, argument=True, metavar="NAME")
    ]


class _Name:
    name: Annotated[str, Option("The model's name in the store.", STORE, default="model")]


class _Replace:
    replace: Annotated[bool, Option("Overwrite a model of that name.", STORE, default=False)]


class _LastModel:
    store: Annotated[
        str | None, Option("Keep the last model in this DuckDB file.", STORE, short="-s")
    ]
    name: Annotated[str | None, Option("The name of the last model in the store.", STORE)]


class _WhichNetwork:
    bif: Annotated[Path | None, Option("The network in this .bif or .bif.gz file.", NETWORK)]
    store: Annotated[
        str | None,
        Option("Instead: the DuckDB file of a stored model, with --name.", NETWORK, short="-s"),
    ]
    name: Annotated[str | None, Option("The model's name in the store.", NETWORK)]


class _Fit:
    store_table: Annotated[
        str | None,
        Option(
            "Instead of --store: write the model as Parquet tables into this folder or URL of a "
            "lake.",
            STORE,
        ),
    ]
    like: Annotated[
        str | None,
        Option("Attributes, kinds and cut points of this model, so that both can merge.", STORE),
    ]
    like_store: Annotated[
        str | None, Option("The store of --like, if it is another.", STORE, only_program=True)
    ]
    same_structure: Annotated[
        bool,
        Option("With --like: also its learner, parents and selection.", STORE, default=False),
    ]


class _Again:
    again: Annotated[
        bool,
        Option("Also files that were counted (or taken out) already.", STORE, default=False),
    ]


class _Merge:
    one: Annotated[str, Option("A model of the store.", STORE, argument=True, metavar="A")]
    other: Annotated[
        str, Option("Another, with the same encoding.", STORE, argument=True, metavar="B")
    ]
    name: Annotated[str, Option("The name of the new model.", STORE, required=True)]
    other_store: Annotated[
        str | None, Option("The store that holds B, if it is another.", STORE, flag="from")
    ]
    again: Annotated[
        bool, Option("Also where both models hold the same file.", STORE, default=False)
    ]


class _Positive:
    positive: Annotated[
        str | None,
        Option(
            "The class that auc, aoprc and mcc are about; of more than two it against the rest.",
            EVALUATION,
            usual="the rarer of two, else all",
        ),
    ]


class _Evaluate:
    test: Annotated[
        str | Sequence[str] | None,
        Option(f"Files to test on; DATA trains {_SEVERAL}.", EVALUATION),
    ]
    folds: Annotated[int | None, Option("Stratified cross-validation.", EVALUATION, usual="10")]


class _Curve:
    learners: Annotated[
        str | Sequence[str],
        Option(
            "Learners; kdb:3 is kdb with k = 3.",
            EVALUATION,
            usual="nb,kdb:1,kdb:2,kdb:3,skdb",
        ),
    ]
    sizes: Annotated[
        str | Sequence[str],
        Option("Numbers of training rows.", EVALUATION, usual="1000,10000,100000"),
    ]
    repeats: Annotated[int, Option("Random training sets of each size.", EVALUATION, default=10)]
    measure: Annotated[
        str,
        Option("The loss to print and draw.", EVALUATION, default="rmse", only_program=True),
    ]
    out: Annotated[
        Path | None,
        Option(
            "Write the losses of all training sets to this .parquet, .csv or .json.",
            OUTPUT,
            short="-o",
            only_program=True,
        ),
    ]
    plot: Annotated[
        Path | None,
        Option("Draw the curves into this .svg or .png.", OUTPUT, only_program=True),
    ]


class _Stream:
    batch: Annotated[int, Option("Rows that come at a time.", EVALUATION, default=10_000)]
    window: Annotated[int | None, Option("Forget all but the last so many rows.", EVALUATION)]
    measure: Annotated[
        str, Option("The loss to watch, print and draw.", EVALUATION, default="zero_one")
    ]
    out: Annotated[
        Path | None,
        Option(
            "Write all batches to this .parquet, .csv or .json.",
            OUTPUT,
            short="-o",
            only_program=True,
        ),
    ]
    plot: Annotated[
        Path | None,
        Option("Draw the losses into this .svg or .png.", OUTPUT, only_program=True),
    ]


class _Predict:
    out: Annotated[
        str | None,
        Option(
            "Write .parquet or .csv (Spark: a folder of such files); else CSV to standard "
            "output, with --json a JSON object a line.",
            OUTPUT,
            short="-o",
        ),
    ]


class _Show:
    cpt: Annotated[str | None, Option("Show the probabilities of this attribute.", OUTPUT)]
    loocv: Annotated[
        bool, Option("Show the leave-one-out losses of all nested models.", OUTPUT, default=False)
    ]
    plot: Annotated[Path | None, Option("Draw those losses into this .svg or .png.", OUTPUT)]
    terms: Annotated[bool, Option("Show the parent sets of a collection.", OUTPUT, default=False)]
    history: Annotated[
        bool, Option("Show what was added and taken out, and when.", OUTPUT, default=False)
    ]
    decisions: Annotated[
        bool,
        Option(
            "Show how a search or --bound decided on parents, and how surely.",
            OUTPUT,
            default=False,
        ),
    ]


class _Export:
    format: Annotated[str, Option("sql, json, bif or pmml.", OUTPUT, default="sql", short="-f")]
    out: Annotated[
        Path | None, Option("Write this file; else standard output.", OUTPUT, short="-o")
    ]


class _Demo:
    store: Annotated[
        str,
        Option("The DuckDB file for the model.", STORE, default="sqlbn-demo.duckdb", short="-s"),
    ]


class _Prepare:
    variable: Annotated[
        str | Sequence[str] | None,
        Option(
            f"Show the parts of these variables {_SEVERAL}.",
            OUTPUT,
            usual="the best 3",
            only_program=True,
        ),
    ]
    plot: Annotated[
        Path | None,
        Option(
            "Draw the best variables, or these, into this .svg or .png.", OUTPUT, only_program=True
        ),
    ]
    out: Annotated[
        Path | None,
        Option(
            "Write the variables to this .parquet, .csv or .json.",
            OUTPUT,
            short="-o",
            only_program=True,
        ),
    ]


class _Rank:
    top: Annotated[
        int, Option("How many attributes are wanted.", EVALUATION, default=10, check=at_least(1))
    ]


class _Sample:
    rows: Annotated[int, Option("Rows to draw.", DATA, required=True, check=at_least(1))]
    out: Annotated[
        Path, Option("Write this .parquet or .csv file.", OUTPUT, required=True, short="-o")
    ]
    random: Annotated[
        str | None, Option("Draw from a random network instead: nb, tan or ban.", NETWORK)
    ]
    attributes: Annotated[int | None, Option("--random: attributes.", NETWORK, usual="19")]
    values: Annotated[
        int | None, Option("--random, --irrelevant: states of an attribute.", NETWORK, usual="2")
    ]
    classes: Annotated[int | None, Option("--random: states of the class.", NETWORK, usual="2")]
    edges: Annotated[
        int | None,
        Option(
            "--random ban: edges, those from the class included.",
            NETWORK,
            usual="50 for 19 attributes, else in proportion",
        ),
    ]
    irrelevant: Annotated[
        int, Option("Add attributes that depend on nothing.", NETWORK, default=0, check=at_least(0))
    ]
    noise: Annotated[
        float,
        Option(
            "Probability that an attribute's cell holds any state.",
            DATA,
            default=0.0,
            check=probability,
        ),
    ]
    missing: Annotated[
        float,
        Option(
            "Probability that an attribute's cell is NULL.", DATA, default=0.0, check=probability
        ),
    ]
    target: Annotated[
        str | None,
        Option(
            "The variable without noise and NULLs.",
            DATA,
            usual="the class; of a .bif file none",
            short="-t",
        ),
    ]
    save_bif: Annotated[Path | None, Option("Write the network to this .bif or .bif.gz.", OUTPUT)]
    seed: Annotated[
        int, Option("Seed of the network and the rows.", RESOURCES, default=0, check=at_least(0))
    ]
    threads: Annotated[
        int | None, Option("Threads to draw and write with.", RESOURCES, check=at_least(1))
    ]


class _NetworkTarget:
    target: Annotated[
        str | None,
        Option("A class, parent of all others: the network then predicts it.", DATA, short="-t"),
    ]


class _Learn:
    method: Annotated[
        str,
        Option(
            "hgc: hill climbing on all rows; vfbn1: each of its steps from as few rows as the "
            "bound asks for; vfbn2: so for every variable at a time, the fastest.",
            SEARCH,
            default="vfbn2",
            choices=("hgc", "vfbn1", "vfbn2"),
        ),
    ]
    name: Annotated[str, Option("The network's name in the store.", STORE, default="network")]


class _Follow:
    window: Annotated[
        int, Option("The network is of the last so many rows.", SEARCH, required=True)
    ]


class _Query:
    of: Annotated[
        str | Sequence[str],
        Option(
            f"A variable, or several {_SEVERAL}: all combinations of states.",
            NETWORK,
            required=True,
        ),
    ]
    given: Annotated[
        str | Sequence[str] | None,
        Option("What is known, as VARIABLE=STATE (a=1,b=2 or repeat).", NETWORK),
    ]


class _NetworkFile:
    out: Annotated[
        Path, Option("Write this .bif or .bif.gz file.", OUTPUT, required=True, short="-o")
    ]


class _Help:
    topic: Annotated[
        str | None,
        Option(
            "A page of the guide.", OUTPUT, usual="list the pages", argument=True, metavar="TOPIC"
        ),
    ]


class _NetworkPlot:
    out: Annotated[Path, Option("Write this .svg or .png file.", OUTPUT, required=True, short="-o")]
    target: Annotated[
        str | None, Option("The variable to mark.", OUTPUT, usual="the class", short="-t")
    ]


# -- commands -------------------------------------------------------------------------------------


class FitCommand(FitKeywords, total=False):
    """`sqlbn fit` and its like: the learner is one of the keywords."""

    learner: Annotated[
        str | None,
        Option(
            "nb, tan, kdb, skdb; ande, or the paper's names for it: a1de, a2de, with -s, -w or "
            "-sw at the end; fan, superparent; the collections fanc, spc, spcr, tc, collection; "
            "snb; networks: hgc, vfbn1, vfbn2.",
            LEARNER,
            usual="skdb, stream: a1de; kdb where --k is given",
            short="-l",
        ),
    ]


class PredictCommand(PredictKeywords, EngineKeywords, total=False):
    """`sqlbn predict`: rows, and what reads them."""


class RankCommand(RankKeywords, BoundKeywords, total=False):
    """`sqlbn rank`: rows, and how sure the choice must be."""


@dataclass(frozen=True)
class CommandOptions:
    """What a command takes: `own` arguments, and `keywords` that are handed on as a mapping."""

    summary: str
    example: str
    own: tuple[type, ...]
    keywords: type | None = None
    without: tuple[str, ...] = ()

    @property
    def own_options(self) -> dict[str, Option]:
        """Its arguments, those that come first on the command line first."""
        return {name: o for part in self.own for name, o in declared(part).items()}

    @property
    def keyword_options(self) -> dict[str, Option]:
        """Its keywords, with those of learners that were registered later."""
        found = declared(self.keywords) if self.keywords is not None else {}
        if self.keywords is FitCommand:
            found = {"learner": found["learner"], **found, **ADDED}
        return {name: o for name, o in found.items() if name not in self.without}


# Options of learners that do not come with sqlbn, by name.
ADDED: dict[str, Option] = {}


def add_option(option: Option) -> None:
    """Make an option known that only a registered learner has."""
    ADDED[option.name] = option


_BOUND = tuple(BoundKeywords.__annotations__)
_ENGINE = ("engine", "master", "spark_conf", "cluster_dir")
_SILENT = (_Json, _Talk)
COMMANDS: dict[str, CommandOptions] = {
    "fit": CommandOptions(
        "Learn a classifier and store it as tables.",
        "sqlbn fit adult.parquet --target class --learner kdb --k 2 --name adult",
        (_Data, _Target, _Store, _Fit, _Name, _Replace, *_SILENT),
        FitCommand,
    ),
    "predict": CommandOptions(
        "Score rows: input columns, the prediction, a probability for each class.",
        "sqlbn predict adult new.parquet --out scored.parquet",
        (_Model, _Data, _Store, _Predict, *_SILENT),
        PredictCommand,
    ),
    "update": CommandOptions(
        "Add rows to a model: the result is that of a fit of old and new rows.",
        "sqlbn update adult new.parquet",
        (_Model, _Data, _Store, _Again, *_SILENT),
        ReadingKeywords,
    ),
    "forget": CommandOptions(
        "Take rows out of a model: the result is that of a fit without them.",
        "sqlbn forget adult withdrawn.parquet",
        (_Model, _Data, _Store, _Again, *_SILENT),
        ReadingKeywords,
    ),
    "merge": CommandOptions(
        "Put the rows of two models together, from their counts alone.",
        "sqlbn merge north south --name both",
        (_Merge, _Store, _Replace, *_SILENT),
        MachineKeywords,
    ),
    "stream": CommandOptions(
        "Follow rows in their order: predict a batch, then learn it; warn where the loss drifts.",
        "sqlbn stream adult.parquet --target class --batch 5000 --window 20000",
        (_Data, _Target, _Stream, _Positive, _LastModel, _Replace, *_SILENT),
        FitCommand,
    ),
    "evaluate": CommandOptions(
        "Losses of a learner on rows it has not seen; stores nothing.",
        "sqlbn evaluate adult.parquet --target class --learner tan --folds 5",
        (_Data, _Target, _Evaluate, _Positive, *_SILENT),
        FitCommand,
    ),
    "models": CommandOptions(
        "List the models of a store.",
        "sqlbn models --store models.duckdb",
        (_Store, _Json, _Traceback),
    ),
    "show": CommandOptions(
        "Show a model: attributes by information, parents, probabilities, how it was chosen.",
        "sqlbn show adult --cpt education",
        (_Model, _Store, _Show, _Json, _Traceback),
    ),
    "drop": CommandOptions(
        "Remove a model from a store.", "sqlbn drop adult", (_Model, _Store, *_SILENT)
    ),
    "export": CommandOptions(
        "Write a model for other programs: as a SQL script for many databases, JSON, BIF or PMML.",
        "sqlbn export adult --format json --out adult.json",
        (_Model, _Store, _Export, *_SILENT),
        ScriptKeywords,
    ),
    "demo": CommandOptions(
        "Fit, evaluate and score the census data that ships with sqlbn.",
        "sqlbn demo",
        (_Demo, *_SILENT),
    ),
    "prepare": CommandOptions(
        "Tell what every column says about the class on its own; no model is learned.",
        "sqlbn prepare adult.parquet --target class --variable age",
        (_Data, _Target, _Prepare, *_SILENT),
        PrepareKeywords,
    ),
    "rank": CommandOptions(
        "Find the most informative attributes; with --bound from few random rows.",
        "sqlbn rank adult.parquet --target class --top 5 --bound normal",
        (_Data, _Target, _Rank, *_SILENT),
        RankCommand,
    ),
    "curve": CommandOptions(
        "Learning curves: losses on held-out rows as the training set grows.",
        "sqlbn curve adult.parquet --target class --learners nb,kdb:1 --sizes 1000,10000",
        (_Data, _Target, _Curve, _Positive, *_SILENT),
        FitCommand,
        without=("learner", "k", "kmax", "n", *_BOUND),
    ),
    "sample": CommandOptions(
        "Draw rows from a Bayesian network: a BIF file's, a stored model's, or a random one.",
        "sqlbn sample --random tan --rows 10000 --out drawn.parquet",
        (_WhichNetwork, _Sample, *_SILENT),
    ),
    "network learn": CommandOptions(
        "Learn a Bayesian network and store it as tables. Ctrl-C keeps what was found so far.",
        "sqlbn network learn adult.parquet --method hgc --name net",
        (_Data, _NetworkTarget, _Learn, _Store, _Replace, *_SILENT),
        NetworkKeywords,
    ),
    "network follow": CommandOptions(
        "Follow rows in their order: a network that changes where the last rows say so.",
        "sqlbn network follow adult.parquet --window 20000",
        (_Data, _NetworkTarget, _Follow, _LastModel, _Replace, *_SILENT),
        NetworkKeywords,
        without=("score", "ess", "max_changes"),
    ),
    "network sample": CommandOptions(
        "Draw rows from a Bayesian network: a BIF file's, a stored model's, or a random one.",
        "sqlbn network sample --bif asia.bif --rows 1000 --out asia.csv",
        (_WhichNetwork, _Sample, *_SILENT),
    ),
    "network score": CommandOptions(
        "Mean natural-log likelihood of rows: how well a network explains them.",
        "sqlbn network score rows.parquet --bif asia.bif",
        (_Data, _WhichNetwork, *_SILENT),
        ReadingKeywords,
    ),
    "network query": CommandOptions(
        "P(variables | evidence), exact.",
        "sqlbn network query --bif asia.bif --of lung --given smoke=yes --given xray=no",
        (_Query, _WhichNetwork, *_SILENT),
    ),
    "network export": CommandOptions(
        "Write a network as a .bif file, gzipped where the name ends in .gz.",
        "sqlbn network export --store models.duckdb --name net --out net.bif",
        (_NetworkFile, _WhichNetwork, *_SILENT),
    ),
    "network plot": CommandOptions(
        "Draw a network in layers, parents before their children; the class is marked.",
        "sqlbn network plot --bif asia.bif --out asia.svg",
        (_NetworkPlot, _WhichNetwork, *_SILENT),
    ),
    "sql fit": CommandOptions(
        "The statements of a fit, to read: columns are looked at, the rest is only printed.",
        "sqlbn sql fit adult.parquet --target class --learner nb",
        (_Data, _Target, _Json, _Traceback),
        FitCommand,
        without=("memory_limit", "threads", "temp_dir", "sql", *_ENGINE, *_BOUND),
    ),
    "sql predict": CommandOptions(
        "The query of a prediction, over the tables of the model's schema.",
        "sqlbn sql predict adult new.parquet",
        (_Model, _Data, _Store, _Json, _Traceback),
        RowKeywords,
    ),
    "help": CommandOptions(
        "Print a page of the guide, or list the pages.",
        "sqlbn help learners",
        (_Help, _Json, _Traceback),
    ),
}
# What each group of commands is about.
COMMAND_GROUPS = {
    "network": "Bayesian networks: score rows, ask for probabilities, draw rows, export, plot.",
    "sql": "Print the SQL that a fit or a prediction would run.",
}


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


@cache
def _flags() -> dict[str, str]:
    """The flags of options that are not called as they are."""
    options = (o for taken in COMMANDS.values() for o in taken.own_options.values())
    return {option.name: option.flags[0] for option in options if option.flag is not None}


def flag_of(name: str) -> str:
    """How the command line spells an option.

    >>> flag_of("min_count"), flag_of("other_store")
    ('--min-count', '--from')
    """
    return _flags().get(name) or "--" + name.replace("_", "-")
