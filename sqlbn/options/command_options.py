"""Which options each command takes, with its summary and an example."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated

from sqlbn.options.arguments import (
    AgainArguments,
    BenchArguments,
    CurveArguments,
    DataArguments,
    DemoArguments,
    EvaluateArguments,
    ExportArguments,
    FitArguments,
    FollowArguments,
    HelpArguments,
    JsonArguments,
    LastModelArguments,
    LearnArguments,
    MergeArguments,
    ModelArguments,
    NameArguments,
    NetworkFileArguments,
    NetworkPlotArguments,
    NetworkTargetArguments,
    PositiveArguments,
    PredictArguments,
    PrepareArguments,
    QueryArguments,
    RankArguments,
    RefitArguments,
    ReplaceArguments,
    SampleArguments,
    ShowArguments,
    StoreArguments,
    StoredModelArguments,
    StreamArguments,
    TalkArguments,
    TargetArguments,
    TracebackArguments,
    WhichNetworkArguments,
)
from sqlbn.options.catalogue import (
    ADDED,
    BoundKeywords,
    ChangeKeywords,
    EngineKeywords,
    FitKeywords,
    MachineKeywords,
    NetworkKeywords,
    PredictKeywords,
    PrepareKeywords,
    RankKeywords,
    ReadingKeywords,
    RowKeywords,
    ScriptKeywords,
)
from sqlbn.options.option import (
    LEARNER,
    Option,
    declared,
)


class FitCommand(FitKeywords, total=False):
    """`sqlbn fit` and its like: the learner is one of the keywords."""

    learner: Annotated[
        str | None,
        Option(
            "nb, tan, kdb, skdb, eskdb; ande, or the paper's names for it: a1de, a2de, with -s, "
            "-w or -sw at the end; fan, superparent; the collections fanc, spc, spcr, tc, "
            "collection; snb; networks: hgc, vfbn1, vfbn2.",
            LEARNER,
            usual="as --effort says, eskdb or skdb; kdb where --k is given; stream: a1de",
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


_BOUND = tuple(BoundKeywords.__annotations__)
_ENGINE = ("engine", "master", "spark_conf", "cluster_dir")
_TALK = (JsonArguments, TalkArguments)
COMMANDS: dict[str, CommandOptions] = {
    "fit": CommandOptions(
        "Learn a classifier and store it as tables.",
        "sqlbn fit adult.parquet --target class --learner kdb --k 2 --name adult",
        (
            DataArguments,
            TargetArguments,
            StoreArguments,
            FitArguments,
            NameArguments,
            ReplaceArguments,
            *_TALK,
        ),
        FitCommand,
    ),
    "predict": CommandOptions(
        "Score rows: input columns, the prediction, a probability for each class.",
        "sqlbn predict adult new.parquet --out scored.parquet",
        (ModelArguments, DataArguments, StoreArguments, PredictArguments, *_TALK),
        PredictCommand,
    ),
    "update": CommandOptions(
        "Add rows to a model: the result is that of a fit of old and new rows.",
        "sqlbn update adult new.parquet",
        (ModelArguments, DataArguments, StoreArguments, AgainArguments, RefitArguments, *_TALK),
        ChangeKeywords,
    ),
    "forget": CommandOptions(
        "Take rows out of a model: the result is that of a fit without them.",
        "sqlbn forget adult withdrawn.parquet",
        (ModelArguments, DataArguments, StoreArguments, AgainArguments, *_TALK),
        ChangeKeywords,
    ),
    "merge": CommandOptions(
        "Put the rows of two models together, from their counts alone.",
        "sqlbn merge north south --name both",
        (MergeArguments, StoreArguments, ReplaceArguments, *_TALK),
        MachineKeywords,
    ),
    "stream": CommandOptions(
        "Follow rows in their order: predict a batch, then learn it; warn where the loss drifts.",
        "sqlbn stream adult.parquet --target class --batch 5000 --window 20000",
        (
            DataArguments,
            TargetArguments,
            StreamArguments,
            PositiveArguments,
            LastModelArguments,
            ReplaceArguments,
            *_TALK,
        ),
        FitCommand,
    ),
    "evaluate": CommandOptions(
        "Losses of a learner, or of a stored model, on rows it has not seen; stores nothing.",
        "sqlbn evaluate adult.parquet --target class --learner tan --folds 5",
        (
            DataArguments,
            StoredModelArguments,
            EvaluateArguments,
            PositiveArguments,
            *_TALK,
        ),
        FitCommand,
    ),
    "models": CommandOptions(
        "List the models of a store.",
        "sqlbn models --store models.duckdb",
        (StoreArguments, JsonArguments, TracebackArguments),
    ),
    "show": CommandOptions(
        "Show a model: attributes by information, parents, probabilities, how it was chosen.",
        "sqlbn show adult --cpt education",
        (ModelArguments, StoreArguments, ShowArguments, JsonArguments, TracebackArguments),
    ),
    "drop": CommandOptions(
        "Remove a model from a store.",
        "sqlbn drop adult",
        (ModelArguments, StoreArguments, *_TALK),
    ),
    "export": CommandOptions(
        "Write a model for other programs: as a SQL script for many databases, JSON, BIF or PMML.",
        "sqlbn export adult --format json --out adult.json",
        (ModelArguments, StoreArguments, ExportArguments, *_TALK),
        ScriptKeywords,
    ),
    "demo": CommandOptions(
        "Fit, evaluate and score the census data that ships with sqlbn.",
        "sqlbn demo",
        (DemoArguments, *_TALK),
    ),
    "prepare": CommandOptions(
        "Tell what every column says about the class on its own; no model is learned.",
        "sqlbn prepare adult.parquet --target class --variable age",
        (DataArguments, TargetArguments, PrepareArguments, *_TALK),
        PrepareKeywords,
    ),
    "rank": CommandOptions(
        "Find the most informative attributes; with --bound from few random rows.",
        "sqlbn rank adult.parquet --target class --top 5 --bound normal",
        (DataArguments, TargetArguments, RankArguments, *_TALK),
        RankCommand,
    ),
    "curve": CommandOptions(
        "Learning curves: losses on held-out rows as the training set grows.",
        "sqlbn curve adult.parquet --target class --learners nb,kdb:1 --sizes 1000,10000",
        (DataArguments, TargetArguments, CurveArguments, PositiveArguments, *_TALK),
        FitCommand,
        without=("learner", "k", "kmax", "n", *_BOUND),
    ),
    "bench": CommandOptions(
        "Many learners on the same folds of many data sets: tables, ranks, tests, pictures.",
        "sqlbn bench --sets adult.parquet:class --learners nb,kdb:2,normal --folds 5",
        (BenchArguments, *_TALK),
        MachineKeywords,
    ),
    "sample": CommandOptions(
        "Draw rows from a Bayesian network: a BIF file's, a stored model's, or a random one.",
        "sqlbn sample --random tan --rows 10000 --out drawn.parquet",
        (WhichNetworkArguments, SampleArguments, *_TALK),
    ),
    "network learn": CommandOptions(
        "Learn a Bayesian network and store it as tables. Ctrl-C keeps what was found so far.",
        "sqlbn network learn adult.parquet --method hgc --name net",
        (
            DataArguments,
            NetworkTargetArguments,
            LearnArguments,
            StoreArguments,
            ReplaceArguments,
            *_TALK,
        ),
        NetworkKeywords,
    ),
    "network follow": CommandOptions(
        "Follow rows in their order: a network that changes where the last rows say so.",
        "sqlbn network follow adult.parquet --window 20000",
        (
            DataArguments,
            NetworkTargetArguments,
            FollowArguments,
            LastModelArguments,
            ReplaceArguments,
            *_TALK,
        ),
        NetworkKeywords,
        without=("score", "ess", "max_changes"),
    ),
    "network sample": CommandOptions(
        "Draw rows from a Bayesian network: a BIF file's, a stored model's, or a random one.",
        "sqlbn network sample --bif asia.bif --rows 1000 --out asia.csv",
        (WhichNetworkArguments, SampleArguments, *_TALK),
    ),
    "network score": CommandOptions(
        "Mean natural-log likelihood of rows: how well a network explains them.",
        "sqlbn network score rows.parquet --bif asia.bif",
        (DataArguments, WhichNetworkArguments, *_TALK),
        ReadingKeywords,
    ),
    "network query": CommandOptions(
        "P(variables | evidence), exact.",
        "sqlbn network query --bif asia.bif --of lung --given smoke=yes --given xray=no",
        (QueryArguments, WhichNetworkArguments, *_TALK),
    ),
    "network export": CommandOptions(
        "Write a network as a .bif file, gzipped where the name ends in .gz.",
        "sqlbn network export --store models.duckdb --name net --out net.bif",
        (NetworkFileArguments, WhichNetworkArguments, *_TALK),
    ),
    "network plot": CommandOptions(
        "Draw a network in layers, parents before their children; the class is marked.",
        "sqlbn network plot --bif asia.bif --out asia.svg",
        (NetworkPlotArguments, WhichNetworkArguments, *_TALK),
    ),
    "sql fit": CommandOptions(
        "The statements of a fit, to read: columns are looked at, the rest is only printed.",
        "sqlbn sql fit adult.parquet --target class --learner nb",
        (DataArguments, TargetArguments, JsonArguments, TracebackArguments),
        FitCommand,
        without=("memory_limit", "threads", "temp_dir", "sql_log", *_ENGINE, *_BOUND),
    ),
    "sql predict": CommandOptions(
        "The query of a prediction, over the tables of the model's schema.",
        "sqlbn sql predict adult new.parquet",
        (ModelArguments, DataArguments, StoreArguments, JsonArguments, TracebackArguments),
        RowKeywords,
    ),
    "help": CommandOptions(
        "Print a page of the guide, or list the pages.",
        "sqlbn help learners",
        (HelpArguments, JsonArguments, TracebackArguments),
    ),
}
# What each group of commands is about.
COMMAND_GROUPS = {
    "network": "Bayesian networks: score rows, ask for probabilities, draw rows, export, plot.",
    "sql": "Print the SQL that a fit or a prediction would run.",
}


@cache
def _flags() -> dict[str, str]:
    """The flags of options that are not called as they are."""
    found = {}
    for taken in COMMANDS.values():
        for option in (*taken.own_options.values(), *taken.keyword_options.values()):
            if option.flag is not None:
                found[option.name] = option.flags[0]
    return found


def flag_of(name: str) -> str:
    """How the command line spells an option.

    >>> flag_of("min_count"), flag_of("other_store")
    ('--min-count', '--from')
    """
    return _flags().get(name) or "--" + name.replace("_", "-")
