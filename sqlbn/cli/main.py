"""The program `sqlbn`: its commands by name, and how warnings reach a person."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
import typer.core

from sqlbn import __version__
from sqlbn.cli.command import made, take_words
from sqlbn.cli.endings import end_on_signals, leave_quietly
from sqlbn.cli.output import STATE, echo
from sqlbn.errors import SqlbnWarning
from sqlbn.options.command_options import COMMAND_GROUPS, COMMANDS
from sqlbn.text import printable

# The library's error of a wrong use, which it does not name.
_USAGE: Any = typer.BadParameter.__mro__[1]
_ABOUT = "Bayesian-network classifiers learned inside the database, from Parquet lakes."


class _Commands(typer.core.TyperGroup):
    """Commands that are made when they are asked for; `within` is the group's own name.

    What they say of a wrong use holds no control character of it.
    """

    within = ""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of this group, as they stand in the catalogue."""
        inner = [
            name.removeprefix(self.within) for name in COMMANDS if name.startswith(self.within)
        ]
        return list(dict.fromkeys(name.split()[0] for name in inner))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, or a group of commands."""
        name = self.within + cmd_name
        if name in COMMAND_GROUPS:
            return _group(cmd_name)
        return made(name) if name in COMMANDS else None

    def get_help_option(self, ctx: Any) -> Any:
        """The library's own option."""
        return take_words(super().get_help_option(ctx), bool)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """What there is, without making it."""
        names = self.list_commands(ctx)
        lines = [(name, _summary(self.within + name)) for name in names]
        with formatter.section("Commands"):
            formatter.write_dl(lines)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _clean_usage():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _clean_usage():
            return super().invoke(ctx)


class _NetworkCommands(_Commands):
    within = "network "


class _SqlCommands(_Commands):
    within = "sql "


_INNER = {"network": _NetworkCommands, "sql": _SqlCommands}


def _summary(name: str) -> str:
    return COMMAND_GROUPS[name] if name in COMMAND_GROUPS else COMMANDS[name].summary


def _group(name: str) -> Any:
    group = _INNER[name](name=name, help=COMMAND_GROUPS[name], no_args_is_help=True)
    group.rich_markup_mode = None
    return group


@contextmanager
def _clean_usage() -> Iterator[None]:
    try:
        yield
    except _USAGE as error:
        if type(error).__name__ != "NoArgsIsHelpError":  # whose message is the help, in lines
            error.message = printable(error.message)
        raise


app = typer.Typer(
    name="sqlbn",
    cls=_Commands,
    help=_ABOUT,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        echo(f"sqlbn {__version__}")
        raise typer.Exit


@app.callback(help=_ABOUT)
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What holds for all commands."""


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
