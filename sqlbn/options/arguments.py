"""Options and arguments of single commands, beside the keywords in `catalogue`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from sqlbn.options.catalogue import SEVERAL
from sqlbn.options.option import (
    DATA,
    EVALUATION,
    NETWORK,
    OUTPUT,
    RESOURCES,
    SEARCH,
    STORE,
    Option,
    at_least,
    probability,
)

DATA_ARGUMENT = Option(
    "Parquet or CSV files, patterns ('lake/*.parquet'), hive folders, a Delta or Iceberg table, or "
    "a DuckDB file; nothing where --query names its files.",
    DATA,
    argument=True,
    metavar="DATA...",
)


class DataArguments:
    data: Annotated[list[str], DATA_ARGUMENT]


class TargetArguments:
    target: Annotated[str, Option("The column to predict.", DATA, short="-t", required=True)]


class TracebackArguments:
    traceback: Annotated[
        bool,
        Option("Show where an error comes from.", OUTPUT, default=False, only_program=True),
    ]


class TalkArguments(TracebackArguments):
    quiet: Annotated[bool, Option("No progress, no warnings.", OUTPUT, default=False, short="-q")]


class JsonArguments:
    json: Annotated[
        bool, Option("Print JSON for programs.", OUTPUT, default=False, only_program=True)
    ]


class StoreArguments:
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


class ModelArguments:
    name: Annotated[
        str, Option("The model's name in the store.", STORE, argument=True, metavar="NAME")
    ]


class NameArguments:
    name: Annotated[str, Option("The model's name in the store.", STORE, default="model")]


class ReplaceArguments:
    replace: Annotated[bool, Option("Overwrite a model of that name.", STORE, default=False)]


class LastModelArguments:
    store: Annotated[
        str | None, Option("Keep the last model in this DuckDB file.", STORE, short="-s")
    ]
    name: Annotated[str | None, Option("The name of the last model in the store.", STORE)]


class WhichNetworkArguments:
    bif: Annotated[Path | None, Option("The network in this .bif or .bif.gz file.", NETWORK)]
    store: Annotated[
        str | None,
        Option("Instead: the DuckDB file of a stored model, with --name.", NETWORK, short="-s"),
    ]
    name: Annotated[str | None, Option("The model's name in the store.", NETWORK)]


class FitArguments:
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
    dry_run: Annotated[
        bool,
        Option(
            "Say what would be tried and chosen, and do nothing.",
            OUTPUT,
            default=False,
            only_program=True,
        ),
    ]


class AgainArguments:
    again: Annotated[
        bool,
        Option("Also files that were counted (or taken out) already.", STORE, default=False),
    ]


class RefitArguments:
    refit_weights: Annotated[
        bool,
        Option(
            "Fit the weights of attributes again, by these rows; else they stay as they are.",
            STORE,
            default=False,
        ),
    ]


class MergeArguments:
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


class PositiveArguments:
    positive: Annotated[
        str | None,
        Option(
            "The class that auc, aoprc and mcc are about; of more than two it against the rest.",
            EVALUATION,
            usual="the rarer of two, else all",
        ),
    ]


class EvaluateArguments:
    test: Annotated[
        str | Sequence[str] | None,
        Option(f"Files to test on; DATA trains {SEVERAL}.", EVALUATION),
    ]
    folds: Annotated[int | None, Option("Stratified cross-validation.", EVALUATION, usual="10")]
    repeats: Annotated[
        int, Option("How often rows are dealt to folds anew.", EVALUATION, default=1)
    ]
    out: Annotated[
        str | None,
        Option(
            "Write every row to this .parquet or .csv: repeat, fold, place, class, prediction, "
            "P(class).",
            OUTPUT,
            short="-o",
        ),
    ]


class StoredModelArguments:
    target: Annotated[
        str | None, Option("The column to predict.", DATA, usual="that of --name", short="-t")
    ]
    name: Annotated[
        str | None,
        Option("Instead of a learner: a model of the store.", STORE, only_program=True),
    ]
    store: Annotated[
        str | None,
        Option(
            "With --name: the store that holds it.",
            STORE,
            usual="models.duckdb",
            short="-s",
            only_program=True,
        ),
    ]


class CurveArguments:
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


class BenchArguments:
    plan: Annotated[
        str | None,
        Option(
            "A TOML file with [[sets]] and [[learners]]; see `sqlbn help bench`.",
            EVALUATION,
            argument=True,
            metavar="[PLAN]",
        ),
    ]
    sets: Annotated[
        str | Sequence[str] | None,
        Option(f"Data sets, as FILE:TARGET or NAME=FILE:TARGET {SEVERAL}.", EVALUATION),
    ]
    learners: Annotated[
        str | Sequence[str] | None,
        Option(
            "Learners; kdb:3 is kdb with k = 3; quick, normal, best are efforts; forest, hgb, "
            "lightgbm, logistic and khiops are other people's.",
            EVALUATION,
        ),
    ]
    repeats: Annotated[
        int | None, Option("How often rows are dealt to folds anew.", EVALUATION, usual="1")
    ]
    folds: Annotated[int | None, Option("Stratified cross-validation.", EVALUATION, usual="10")]
    seed: Annotated[int | None, Option("Seed of folds and samples.", RESOURCES, usual="0")]
    measures: Annotated[
        str | Sequence[str] | None,
        Option("Measures to compare.", EVALUATION, usual="rmse,zero_one,log_loss"),
    ]
    predictions: Annotated[
        bool,
        Option(
            "Keep the predictions of all rows; of several repeats bias and variance are made.",
            EVALUATION,
            default=False,
        ),
    ]
    quick: Annotated[bool, Option("Take about 1,000 rows of every set.", EVALUATION, default=False)]
    decimals: Annotated[
        int,
        Option(
            "Decimals that are printed, and by which equal values are draws.", OUTPUT, default=4
        ),
    ]
    out: Annotated[
        Path,
        Option(
            "The DuckDB file of results; what is in it is not run again.",
            OUTPUT,
            default="bench.duckdb",
            short="-o",
        ),
    ]
    format: Annotated[
        str,
        Option(
            "Print tables as markdown, csv or latex.",
            OUTPUT,
            default="markdown",
            short="-f",
            only_program=True,
        ),
    ]
    plot: Annotated[
        str | None,
        Option("Draw the pictures into this folder, as SVG.", OUTPUT, only_program=True),
    ]


class StreamArguments:
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


class PredictArguments:
    out: Annotated[
        str | None,
        Option(
            "Write .parquet or .csv (Spark: a folder of such files); else CSV to standard "
            "output, with --json a JSON object a line.",
            OUTPUT,
            short="-o",
        ),
    ]


class ShowArguments:
    cpt: Annotated[str | None, Option("Show the probabilities of this attribute.", OUTPUT)]
    loocv: Annotated[
        bool, Option("Show the leave-one-out losses of all nested models.", OUTPUT, default=False)
    ]
    plot: Annotated[Path | None, Option("Draw those losses into this .svg or .png.", OUTPUT)]
    levels: Annotated[
        bool,
        Option(
            "Show strengths and weights of the levels of each attribute's chain.",
            OUTPUT,
            default=False,
        ),
    ]
    encodings: Annotated[
        bool, Option("Show the encodings that were tried, and why one won.", OUTPUT, default=False)
    ]
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


class ExportArguments:
    format: Annotated[str, Option("sql, json, bif or pmml.", OUTPUT, default="sql", short="-f")]
    out: Annotated[
        Path | None, Option("Write this file; else standard output.", OUTPUT, short="-o")
    ]


class DemoArguments:
    store: Annotated[
        str,
        Option("The DuckDB file for the model.", STORE, default="sqlbn-demo.duckdb", short="-s"),
    ]


class PrepareArguments:
    variable: Annotated[
        str | Sequence[str] | None,
        Option(
            f"Show the parts of these variables {SEVERAL}.",
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


class RankArguments:
    top: Annotated[
        int, Option("How many attributes are wanted.", EVALUATION, default=10, check=at_least(1))
    ]


class SampleArguments:
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


class NetworkTargetArguments:
    target: Annotated[
        str | None,
        Option("A class, parent of all others: the network then predicts it.", DATA, short="-t"),
    ]


class LearnArguments:
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


class FollowArguments:
    window: Annotated[
        int, Option("The network is of the last so many rows.", SEARCH, required=True)
    ]


class QueryArguments:
    of: Annotated[
        str | Sequence[str],
        Option(
            f"A variable, or several {SEVERAL}: all combinations of states.",
            NETWORK,
            required=True,
        ),
    ]
    given: Annotated[
        str | Sequence[str] | None,
        Option("What is known, as VARIABLE=STATE (a=1,b=2 or repeat).", NETWORK),
    ]


class NetworkFileArguments:
    out: Annotated[
        Path, Option("Write this .bif or .bif.gz file.", OUTPUT, required=True, short="-o")
    ]


class HelpArguments:
    topic: Annotated[
        str | None,
        Option(
            "A page of the guide.", OUTPUT, usual="list the pages", argument=True, metavar="TOPIC"
        ),
    ]


class NetworkPlotArguments:
    out: Annotated[Path, Option("Write this .svg or .png file.", OUTPUT, required=True, short="-o")]
    target: Annotated[
        str | None, Option("The variable to mark.", OUTPUT, usual="the class", short="-t")
    ]
