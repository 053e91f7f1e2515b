"""`sqlbn fit` and `sqlbn demo`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlbn import api
from sqlbn.cli import options as opt
from sqlbn.cli.inspecting import print_model
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.engines.limits import Limits
from sqlbn.engines.sql import identifier, literal
from sqlbn.errors import OptionError, SourceError
from sqlbn.store import open_store
from sqlbn.store.parquet_folder import StoreFolder
from sqlbn.store.saving import as_folder
from sqlbn.store.sql_objects import too_large_for_sql
from sqlbn.text import json_text


@opt.learning()
def fit(
    data: opt.Data,
    target: opt.Target,
    options: dict[str, Any],
    store: opt.Store = "models.duckdb",
    store_table: opt.StoreTable = None,
    name: opt.Name = "model",
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite a model of that name.")
    ] = False,
    like: Annotated[
        str | None,
        typer.Option(
            "--like", help="Attributes, kinds and cut points of this model, so that both can merge."
        ),
    ] = None,
    like_store: Annotated[
        str | None, typer.Option("--like-store", help="The store of --like, if it is another.")
    ] = None,
    same_structure: Annotated[
        bool,
        typer.Option(
            "--same-structure", help="With --like: also its learner, parents and selection."
        ),
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Learn a classifier and store it as tables."""
    if like_store is not None and like is None:
        raise OptionError("--like-store goes with --like")
    with ExitStack() as stack:
        if store_table is not None and store != "models.duckdb":
            raise OptionError("give --store or --store-table, not both")
        store = as_folder(store_table) if store_table is not None else store
        pattern = api.load(like_store or store, like) if like is not None else None
        model = api.fit(
            data,
            target,
            store=store,
            name=name,
            replace=replace,
            progress=STATE.progress(),
            like=stack.enter_context(pattern) if pattern is not None else None,
            same_structure=same_structure,
            **options,
        )
        stack.enter_context(model)
        if as_json:
            typer.echo(json_text({"name": name, "store": str(store), **model.meta}))
        elif not STATE.quiet:
            print_model(model, most=10)
            _print_place(store, name, too_large_for_sql(model.spec, name, Limits()) is None)


def _print_place(store: str, name: str, has_macro: bool) -> None:
    """Where the model is, and what to do with it."""
    in_folder = isinstance(open_store(store), StoreFolder)
    if in_folder or not has_macro:
        place = f", Parquet tables in {store}" if in_folder else f" in {store}"
        echo(f"\nStored as {name!r}{place}. To score rows:")
        echo(f"  sqlbn predict {name} new/*.parquet --store {store}")
        return
    echo(f"\nStored as {name!r} in {store}. In SQL:")
    place = f"ATTACH {literal(store)} AS m; USE m.{identifier(name)};"
    echo(f"  {place} FROM predict('new/*.parquet');")


def demo(
    store: opt.Store = "sqlbn-demo.duckdb",
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    traceback: opt.Traceback = False,
) -> None:
    """Fit, evaluate and score the census data that ships with sqlbn."""
    data = example_data()

    def say(text: str) -> None:
        if not as_json:
            echo(text)

    say(f"$ sqlbn fit {data} --target class --store {store} --name adult")
    with api.fit(
        data,
        "class",
        store=store,
        name="adult",
        replace=True,
        progress=STATE.progress(),
    ) as model:
        if not as_json:
            print_model(model, most=5)
        say(f"\n$ sqlbn evaluate {data} --target class --folds 5")
        result = api.evaluate(data, "class", folds=5, progress=STATE.progress())
        for loss, value in result.losses.items():
            say(f"{loss:9} {value:.4f}")
        say(f"\n$ sqlbn predict adult {data} --store {store}")
        scored = model.predict(data).slice(0, 5)
        shown = scored.select(["age", "occupation", "class", "prediction", "p_>50K"]).to_pylist()
        for row in shown:
            say("  ".join(f"{key}={value}" for key, value in row.items()))
        if as_json:
            told = {"name": "adult", "store": store, **model.meta}
            typer.echo(json_text({"fit": told, "evaluate": result.to_dict(), "predict": shown}))
    say(f"\nThe model is in {store}; any duckdb program can use it:")
    say(f"  ATTACH '{store}' AS m; USE m.adult; FROM predict('{data}');")


def example_data() -> str:
    """The example file: inside an installed package, or in the checkout."""
    here = Path(__file__).resolve().parent.parent
    for path in (here / "_examples" / "adult.parquet", here.parent / "examples" / "adult.parquet"):
        if path.is_file():
            near = path.is_relative_to(Path.cwd())
            return str(path.relative_to(Path.cwd()) if near else path)
    raise SourceError("the example data is not installed; get examples/adult.parquet")
