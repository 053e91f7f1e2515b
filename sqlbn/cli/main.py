"""The program `sqlbn`: its commands, and how warnings reach a person."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
import typer.core

from sqlbn import __version__
from sqlbn.cli import (
    curving,
    evaluating,
    exporting,
    fitting,
    guide,
    inspecting,
    living,
    network,
    predicting,
    preparing,
    ranking,
    sampling,
    sqltext,
    streaming,
)
from sqlbn.cli.reporting import leave_quietly, reporting
from sqlbn.cli.signals import end_on_signals
from sqlbn.cli.state import STATE
from sqlbn.cli.text import echo
from sqlbn.engines.scratch import sweep
from sqlbn.errors import SqlbnWarning
from sqlbn.text import printable

# The library's error of a wrong use, which it does not name.
_USAGE: Any = typer.BadParameter.__mro__[1]


class _Commands(typer.core.TyperGroup):
    """The commands; what they say of a wrong use holds no control character of it."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _clean_usage():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _clean_usage():
            return super().invoke(ctx)


@contextmanager
def _clean_usage() -> Iterator[None]:
    try:
        yield
    except _USAGE as error:
        error.message = printable(error.message)
        raise


app = typer.Typer(
    name="sqlbn",
    cls=_Commands,
    help="Bayesian-network classifiers learned inside the database, from Parquet lakes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("fit")(reporting(fitting.fit))
app.command("predict")(reporting(predicting.predict))
app.command("update")(reporting(living.update))
app.command("forget")(reporting(living.forget))
app.command("merge")(reporting(living.merge))
app.command("stream")(reporting(streaming.stream))
app.command("evaluate")(reporting(evaluating.evaluate))
app.command("models")(reporting(inspecting.models))
app.command("show")(reporting(inspecting.show))
app.command("drop")(reporting(inspecting.drop))
app.command("export")(reporting(exporting.export))
app.command("demo")(reporting(fitting.demo))
app.command("prepare")(reporting(preparing.prepare))
app.command("rank")(reporting(ranking.rank))
app.command("curve")(reporting(curving.curve))
app.command("sample")(reporting(sampling.sample))
app.command("help")(reporting(guide.print_page))
app.add_typer(network.app, name="network")
app.add_typer(sqltext.app, name="sql")


def _version(wanted: bool) -> None:
    if wanted:
        echo(f"sqlbn {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Bayesian-network classifiers learned inside the database, from Parquet lakes."""
    sweep()  # also for commands that start no engine


def _show_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
    if issubclass(category, SqlbnWarning) and not STATE.quiet:
        print(f"sqlbn: {printable(str(message))}", file=sys.stderr)


def main() -> None:
    """Run a command."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    end_on_signals()
    try:
        app()
    except BrokenPipeError:  # while help was printed
        leave_quietly()
