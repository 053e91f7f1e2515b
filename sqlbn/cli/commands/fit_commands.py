"""`sqlbn fit` and `sqlbn demo`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import sqlbn
from sqlbn.cli.commands.describe_commands import print_model
from sqlbn.cli.output import STATE, echo, echo_json
from sqlbn.errors import OptionError, SourceError, opt


def fit(
    data: list[str],
    target: str,
    options: dict[str, Any],
    store: str,
    store_table: str | None,
    name: str,
    replace: bool,
    like: str | None,
    like_store: str | None,
    same_structure: bool,
    dry_run: bool,
    json: bool,
) -> None:
    """Learn a classifier and store it as tables."""
    from sqlbn.api import results

    if like_store is not None and like is None:
        raise OptionError(f"{opt('like_store')} requires {opt('like')}")
    if dry_run:
        plan = results.plan(target, data=data, **options)
        echo_json({"plan": plan}) if json else echo("\n".join(plan))
        return
    with ExitStack() as stack:
        if store_table is not None and store != "models.duckdb":
            raise OptionError(f"give {opt('store')} or {opt('store_table')}, not both")
        store = results.as_folder(store_table) if store_table is not None else store
        pattern = sqlbn.load(like_store or store, like) if like is not None else None
        model = sqlbn.fit(
            data,
            target,
            store=store,
            name=name,
            replace=replace,
            quiet=STATE.quiet,
            like=stack.enter_context(pattern) if pattern is not None else None,
            same_structure=same_structure,
            **options,
        )
        stack.enter_context(model)
        if json:
            echo_json({"name": name, "store": str(store), **model.meta})
        elif not STATE.quiet:
            print_model(model, most=10)
            _print_place(store, name, model.has_macro(name))


def _print_place(store: str, name: str, has_macro: bool) -> None:
    """Where the model is, and what to do with it."""
    from sqlbn.api import results

    in_folder = results.is_folder(store)
    if in_folder or not has_macro:
        place = f", Parquet tables in {store}" if in_folder else f" in {store}"
        echo(f"\nStored as {name!r}{place}. To score rows:")
        echo(f"  sqlbn predict {name} new/*.parquet --store {store}")
        return
    echo(f"\nStored as {name!r} in {store}. In SQL:")
    place = f"ATTACH {results.literal(store)} AS m; USE m.{results.identifier(name)};"
    echo(f"  {place} FROM predict('new/*.parquet');")


def demo(store: str, json: bool) -> None:
    """Fit, evaluate and score the census data that ships with sqlbn."""
    data = example_data()

    def say(text: str) -> None:
        if not json:
            echo(text)

    say(f"$ sqlbn fit {data} --target class --store {store} --name adult")
    with sqlbn.fit(
        data, "class", store=store, name="adult", replace=True, quiet=STATE.quiet
    ) as model:
        if not json:
            print_model(model, most=5)
        say(f"\n$ sqlbn evaluate {data} --target class --effort quick --folds 5")
        result = sqlbn.evaluate(data, "class", effort="quick", folds=5, quiet=STATE.quiet)
        for loss, value in result.losses.items():
            say(f"{loss:9} {value:.4f}")
        say(f"\n$ sqlbn predict adult {data} --store {store}")
        scored = model.predict(data).slice(0, 5)
        shown = scored.select(["age", "occupation", "class", "prediction", "p_>50K"]).to_pylist()
        for row in shown:
            say("  ".join(f"{key}={value}" for key, value in row.items()))
        if json:
            told = {"name": "adult", "store": store, **model.meta}
            echo_json({"fit": told, "evaluate": result.to_dict(), "predict": shown})
    say(f"\nThe model is in {store}; any duckdb program can use it:")
    say(f"  ATTACH '{store}' AS m; USE m.adult; FROM predict('{data}');")


def example_data() -> str:
    """The example file: inside an installed package, or in the checkout."""
    here = Path(__file__).resolve().parent.parent.parent
    for path in (here / "_examples" / "adult.parquet", here.parent / "examples" / "adult.parquet"):
        if path.is_file():
            near = path.is_relative_to(Path.cwd())
            return str(path.relative_to(Path.cwd()) if near else path)
    raise SourceError("the example data is not installed; get examples/adult.parquet")
