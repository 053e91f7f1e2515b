"""Options that several commands share, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from sqlbn.cli.parents_file import read_parents
from sqlbn.cli.state import STATE
from sqlbn.encoding.profile import WEIGHT_KINDS
from sqlbn.kinds.estimates import BACKOFFS
from sqlbn.lists import listed, pairs_in
from sqlbn.options import LISTS


def _quiet(value: bool) -> bool:
    STATE.quiet = value
    return value


def _traceback(value: bool) -> bool:
    STATE.traceback = value
    return value


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        default_factory=list,
        show_default=False,
        help="Parquet or CSV files, patterns ('lake/*.parquet'), hive folders, a Delta or Iceberg "
        "table, or a DuckDB file; nothing where --query names its files.",
    ),
]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
LearnerName = Annotated[
    str | None,
    typer.Option(
        "--learner",
        "-l",
        help="nb, tan, kdb, skdb; ande, or the paper's names for it: a1de, a2de, with -s, -w or "
        "-sw at the end; fan, superparent; the collections fanc, spc, spcr, tc, collection; snb; "
        "networks: hgc, vfbn1, vfbn2. "
        "[default: skdb; kdb where --k is given]",
    ),
]
K = Annotated[
    int | None, typer.Option("--k", help="kdb: parents an attribute may have. [default: 2]")
]
Kmax = Annotated[
    int | None,
    typer.Option("--kmax", help="skdb: the largest number of parents tried. [default: 5]"),
]
Select = Annotated[
    str | None,
    typer.Option(
        "--select",
        help="Choose by leave-one-out. skdb: both, attributes (k = kmax) or k [default: both]; "
        "ande: attributes. [default: all are kept]",
    ),
]
SelectionLoss = Annotated[
    str | None,
    typer.Option(
        "--loss",
        help="With a selection: by rmse, zero_one, log_loss, brier or mcc. [default: rmse]",
    ),
]
LoocvSample = Annotated[
    int | None,
    typer.Option("--loocv-sample", help="With a selection: leave out only this many rows in turn."),
]
N = Annotated[
    int | None,
    typer.Option("--n", help="ande: attributes that are parents at a time, 1 or 2. [default: 1]"),
]
Subsumption = Annotated[
    bool,
    typer.Option(
        "--subsumption", help="ande: leave out values that another value of the row implies."
    ),
]
Weighted = Annotated[
    bool,
    typer.Option(
        "--weighted", help="ande: weight parents by their mutual information with the class."
    ),
]
MinCount = Annotated[
    int | None,
    typer.Option(
        "--min-count",
        help="With --subsumption: a value implies another if it was seen more often than this, "
        "and always with it. [default: 100]",
    ),
]
Attributes = Annotated[
    int | None,
    typer.Option("--attributes", help="ande: use only this many, those that tell most."),
]
Score = Annotated[
    str | None,
    typer.Option("--score", help="fan: what links must raise, bic, aic or bayes. [default: bic]"),
]
SuperParent = Annotated[
    str | None,
    typer.Option(
        "--superparent",
        help="superparent, spc: the attribute, or auto: the first by --order gain. [default: auto]",
    ),
]
AttributeOrder = Annotated[
    str | None,
    typer.Option(
        "--order",
        help="fan, superparent, fanc, spc, spcr, tc: attributes in the order of the columns "
        "(schema), of their information about the class (mi), or of what they add to that of each "
        "other attribute, summed up (gain). [default: schema; fan, superparent: mi]",
    ),
]
ParentsFromFirst = Annotated[
    int | None,
    typer.Option(
        "--parents-from-first",
        help="fanc, spc, spcr, tc: only this many attributes, the first in order, may be parents.",
    ),
]
Parents = Annotated[
    Path | None,
    typer.Option(
        "--parents",
        metavar="FILE.toml",
        help="collection: a table [parents] with the parent sets of attributes, such as "
        'age = [[], ["sex"], {parents = ["sex", "race"], weight = 2.0}].',
    ),
]
Map = Annotated[
    bool,
    typer.Option("--map", help="snb: attributes of the best subset alone, each counting in full."),
]
EstimateRule = Annotated[
    str | None,
    typer.Option(
        "--estimate",
        help="How counts become probabilities, m or laplace; not for skdb and ande. [default: m; "
        "fan, superparent and collections: laplace]",
    ),
]
MissingRule = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="A missing value is one of its own (value), or what contains it is left out (ignore); "
        "not for skdb and ande. [default: value; fan, superparent and collections: ignore]",
    ),
]
UnseenRule = Annotated[
    str | None,
    typer.Option(
        "--unseen",
        help="A value that no training row has says nothing of the class (neutral), or counts as "
        "one with a count of 0, which favours rare classes (smoothed). [default: neutral]",
    ),
]
StructureSample = Annotated[
    int | None, typer.Option("--structure-sample", help="Find parents from this many rows.")
]
Bound = Annotated[
    str | None,
    typer.Option(
        "--bound",
        help="Read as many random rows as it takes to be sure of each choice, by the normal or the "
        "hoeffding bound. Learners: to find the parents of tan, kdb and skdb.",
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta", help="With --bound: probability of error of one comparison. [default: 1e-9]"
    ),
]
DeltaStar = Annotated[
    float | None,
    typer.Option("--delta-star", help="With --bound, instead: that of all decisions together."),
]
Tau = Annotated[
    float | None,
    typer.Option(
        "--tau",
        help="With --bound: difference of information, in nats, below which it does not matter "
        "which is chosen. [default: 0.005]",
    ),
]
BlockRows = Annotated[
    int | None,
    typer.Option(
        "--block",
        help="With --bound: rows of the first sample; each further one has twice as many. "
        "[default: 10000]",
    ),
]
M = Annotated[float | None, typer.Option("--m", help="m of the m-estimate, above 0. [default: 1]")]
BackoffRule = Annotated[
    str | None,
    typer.Option(
        "--backoff",
        help="When parents are dropped. "
        + "; ".join(f"{name}: {text}" for name, text in BACKOFFS.items())
        + ". [default: cell]",
    ),
]
Discretise = Annotated[
    str | None,
    typer.Option(
        "--discretise",
        help="How quantities are cut: ef (equal frequency), or by what tells the classes apart: "
        "mdl (entropy), modl (Bayesian; also groups categories and leaves out what tells "
        "nothing); auto: the best of --encodings by leave-one-out, for learners. "
        "[default: ef; snb and prepare: modl]",
    ),
]
Encodings = Annotated[
    list[str] | None,
    typer.Option(
        "--encodings",
        metavar="LIST",
        help="With auto: what is tried. [default: ef:5,ef:10,ef:20,ef:50,mdl,modl]",
    ),
]
Bins = Annotated[
    int | None,
    typer.Option("--bins", help="ef: intervals of a numeric column. [default: 5]"),
]
Weight = Annotated[str | None, typer.Option("--weight", help="A column of row weights, 0 or more.")]
WeightKind = Annotated[
    str | None,
    typer.Option(
        "--weight-kind",
        help="; ".join(f"{name}: {text}" for name, text in WEIGHT_KINDS.items())
        + ". [default: frequency where all weights are whole numbers]",
    ),
]
# A list may be repeated, or have commas: a,b; a name with a comma is quoted: '"a,b",c'.
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", metavar="LIST", help="Use only these attributes (a,b or repeat)."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="LIST", help="Do not use these columns (a,b or repeat)."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical", metavar="LIST", help="Treat these columns as categories (a,b or repeat)."
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(
        "--numeric", metavar="LIST", help="Treat these columns as quantities (a,b or repeat)."
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="LIST",
        help="Use these columns though they are constant, identifiers or tell nothing (a,b or "
        "repeat).",
    ),
]
Where = Annotated[
    str | None,
    typer.Option("--where", help="SQL condition over columns: only rows for which it holds."),
]
Table = Annotated[str | None, typer.Option("--table", help="Table of a DuckDB database file.")]
Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        help="SELECT on a DuckDB database file; or without DATA on files that it names: "
        "SELECT *, delay > 15 AS late FROM 'flights/*.parquet'.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="Of CSV files: utf-8, latin-1 or utf-16. [default: utf-8]"),
]
TrustSql = Annotated[
    bool,
    typer.Option(
        "--trust-sql",
        help="Take any SQL in --where and --query, also what reads other files or settings.",
    ),
]
Store = Annotated[
    str,
    typer.Option(
        "--store",
        "-s",
        help="The DuckDB file that holds the models; or a folder or URL with models as Parquet "
        "tables (fit --store-table).",
    ),
]
StoreTable = Annotated[
    str | None,
    typer.Option(
        "--store-table",
        help="Instead of --store: write the model as Parquet tables into this folder or URL of a "
        "lake.",
    ),
]
Name = Annotated[str, typer.Option("--name", "-n", help="The model's name in the store.")]
ModelName = Annotated[str, typer.Argument(metavar="NAME", help="The model's name in the store.")]
Bif = Annotated[
    Path | None, typer.Option("--bif", help="The network in this .bif or .bif.gz file.")
]
NetworkStore = Annotated[
    str | None,
    typer.Option("--store", "-s", help="Instead: the DuckDB file of a stored model, with --name."),
]
NetworkName = Annotated[
    str | None, typer.Option("--name", "-n", help="The model's name in the store.")
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        help="The class that auc, aoprc and mcc are about; of more than two it against the rest. "
        "[default: the rarer of two, else all]",
    ),
]
MemoryLimit = Annotated[
    str | None, typer.Option("--memory-limit", help="Memory the engine may use, such as 1GB.")
]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads the engine may use.")]
TempDir = Annotated[
    str | None,
    typer.Option("--temp-dir", help="Folder for spill files (a private one inside it)."),
]
DiskLimit = Annotated[
    str | None,
    typer.Option("--disk-limit", help="Disk the spill files may use, such as 50GB."),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="What reads the rows: duckdb, or spark, which needs PySpark and Java 17 "
        "(pip install 'sqlbn[spark]'). [default: duckdb]",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        help="spark: where it runs: local[*], spark://…, yarn, or sc://… (Spark Connect, "
        "Databricks). [default: local[*]]",
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option("--spark-conf", help="spark: settings, as key=value (a=1,b=2 or repeat)."),
]
ClusterDir = Annotated[
    str | None,
    typer.Option(
        "--cluster-dir",
        help="spark: keep the encoded rows as Parquet in this folder of the cluster's storage; "
        "else its executors cache them.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of samples and folds.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_quiet, help="No progress, no warnings.")
]
Traceback = Annotated[
    bool, typer.Option("--traceback", callback=_traceback, help="Show where an error comes from.")
]


def given(**options: Any) -> dict[str, Any]:
    """The options that were given, for a call of the API."""
    return {key: value for key, value in options.items() if value not in (None, [], ())}


# What every command that learns takes: name, declaration, default.
_LEARNING: list[tuple[str, Any, Any]] = [
    ("learner", LearnerName, None),
    ("k", K, None),
    ("kmax", Kmax, None),
    ("select", Select, None),
    ("loss", SelectionLoss, None),
    ("n", N, None),
    ("subsumption", Subsumption, False),
    ("weighted", Weighted, False),
    ("min_count", MinCount, None),
    ("attributes", Attributes, None),
    ("score", Score, None),
    ("superparent", SuperParent, None),
    ("order", AttributeOrder, None),
    ("parents_from_first", ParentsFromFirst, None),
    ("parents", Parents, None),
    ("map", Map, False),
    ("estimate", EstimateRule, None),
    ("missing", MissingRule, None),
    ("unseen", UnseenRule, None),
    ("loocv_sample", LoocvSample, None),
    ("structure_sample", StructureSample, None),
    ("bound", Bound, None),
    ("delta", Delta, None),
    ("delta_star", DeltaStar, None),
    ("tau", Tau, None),
    ("block", BlockRows, None),
    ("m", M, None),
    ("backoff", BackoffRule, None),
    ("discretise", Discretise, None),
    ("encodings", Encodings, None),
    ("bins", Bins, None),
    ("weight", Weight, None),
    ("weight_kind", WeightKind, None),
    ("columns", Columns, None),
    ("exclude", Exclude, None),
    ("categorical", Categorical, None),
    ("numeric", Numeric, None),
    ("keep", Keep, None),
    ("where", Where, None),
    ("table", Table, None),
    ("query", Query, None),
    ("encoding", Encoding, None),
    ("trust_sql", TrustSql, False),
    ("memory_limit", MemoryLimit, None),
    ("threads", Threads, None),
    ("temp_dir", TempDir, None),
    ("disk_limit", DiskLimit, None),
    ("engine", Engine, None),
    ("master", Master, None),
    ("spark_conf", SparkConf, None),
    ("cluster_dir", ClusterDir, None),
    ("seed", Seed, 0),
    ("quiet", Quiet, False),
    ("traceback", Traceback, False),
]
# Where rows are read.
ENGINE = ("engine", "master", "spark_conf", "cluster_dir")
_ABOUT_TALKING = ("quiet", "traceback")
# What a bound is told; not every command decides by one.
BOUND = ("bound", "delta", "delta_star", "tau", "block")


def learning_options() -> list[str]:
    """The options of a fit, without those about talking."""
    return [name for name, _, _ in _LEARNING if name not in _ABOUT_TALKING]


# What every command that reads rows for a stored model takes.
_READING: list[tuple[str, Any, Any]] = [
    entry
    for entry in _LEARNING
    if entry[0]
    in (
        "where",
        "table",
        "query",
        "encoding",
        "trust_sql",
        "memory_limit",
        "threads",
        "temp_dir",
        *ENGINE,
        "quiet",
        "traceback",
    )
]

Command = Callable[..., None]


def learning(*leave_out: str) -> Callable[[Command], Command]:
    """A command that learns: its `options` parameter stands for all the options of a fit."""
    return _taking([entry for entry in _LEARNING if entry[0] not in leave_out])


def reading(command: Command) -> Command:
    """A command that reads rows for a stored model: `options` says which, and with what means."""
    return _taking(_READING)(command)


def require_data(data: object, query: str | None) -> None:
    """A usage error where nothing says which rows are meant."""
    if not data and query is None:
        raise typer.BadParameter("name files, or give --query", param_hint="DATA...")


def _taking(chosen: list[tuple[str, Any, Any]]) -> Callable[[Command], Command]:
    """A command whose `options` parameter stands for some declared options.

    typer reads them off the signature; the command gets those that were given as one mapping.
    """

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command)
        own = [p for p in signature.parameters.values() if p.name != "options"]
        added = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
            )
            for name, kind, default in chosen
        ]

        @functools.wraps(command)
        def called(**values: Any) -> None:
            wanted = {name: values.pop(name) for name, _, _ in chosen}
            for name in _ABOUT_TALKING:
                wanted.pop(name, None)
            require_data(values.get("data", True), wanted.get("query"))
            if wanted.get("parents") is not None:
                wanted["parents"] = read_parents(wanted["parents"])
            for name in LISTS:
                if wanted.get(name):
                    wanted[name] = listed(wanted[name])
            if wanted.get("spark_conf"):
                wanted["spark_conf"] = pairs_in(wanted["spark_conf"])
            command(**values, options=given(**wanted))

        del called.__dict__["__wrapped__"]  # or typer would look through to the original
        hints = get_type_hints(command, include_extras=True)
        keyword = [
            p.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[p.name]) for p in own
        ]
        parameters = [*keyword, *added]
        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return decorate
