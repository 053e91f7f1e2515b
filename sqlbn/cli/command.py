"""Commands made of the catalogue: their flags in named groups, and the values they are called with.

A command is a function whose parameters are options by their names; a parameter `options` takes
all keywords that are handed on to the API. Modules of commands are imported when one is asked for,
and import the API when they run, so that `--help` stays fast.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from sqlbn.cli.endings import reporting
from sqlbn.cli.output import STATE
from sqlbn.cli.parents_file import read_parents
from sqlbn.options.catalogue import ADDED
from sqlbn.options.command_options import COMMANDS
from sqlbn.options.lists import listed, pairs_in
from sqlbn.options.option import GROUPS, Option

# The module of each command; its function has the command's last word for a name.
_MODULES = {
    "fit_commands": ("fit", "demo"),
    "predict_command": ("predict",),
    "update_commands": ("update", "forget", "merge"),
    "bench_command": ("bench",),
    "evaluate_commands": ("evaluate", "curve", "stream"),
    "describe_commands": ("models", "show", "drop"),
    "column_commands": ("prepare", "rank"),
    "export_command": ("export",),
    "network_commands": (
        *("sample", "network learn", "network follow", "network sample", "network score"),
        *("network query", "network export", "network plot"),
    ),
    "sql_commands": ("sql fit", "sql predict"),
    "help_command": ("help",),
}
# The library's error of a wrong use, which it does not name.
_USAGE: Any = typer.BadParameter.__mro__[1]
_ARGUMENTS, _OTHER = "Arguments", "Other"
_TALK = ("quiet", "traceback")


def made(name: str) -> Any:
    """The command of that name, as the library knows commands."""
    return _made(name, frozenset(ADDED))


@cache
def _made(name: str, added: frozenset[str]) -> Any:
    # `added`: a learner that was registered since has options that the command must have, too.
    function = function_of(name)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(cls=_Command, help=inspect.getdoc(function), epilog=COMMANDS[name].example)(
        _called(name, function)
    )
    command = typer.main.get_command(app)
    kinds = {option.name: _word_type(option) for option in _options_of(name).values()}
    for parameter in command.params:
        if parameter.name in kinds:
            take_words(parameter, kinds[parameter.name])
    command.name = name.split()[-1]
    command.full_name = name  # type: ignore[attr-defined]
    return command


def _options_of(name: str) -> dict[str, Option]:
    """The options of a command by name, in their order."""
    keywords = COMMANDS[name].keyword_options
    shown = {key: option for key, option in keywords.items() if not option.only_python}
    return {**COMMANDS[name].own_options, **shown}


def take_words(parameter: Any, kind: Any) -> Any:
    """An option whose value stays as it is where there is none, or one of its type.

    The library would load pydantic to make a text of a text, which takes as long as the engine.
    """
    process, kinds = parameter.process_value, (kind, *typing.get_args(kind))
    is_list = any(typing.get_origin(each) is list for each in kinds)

    def processed(ctx: Any, value: Any) -> Any:
        is_lacking = parameter.required and not value
        is_there = is_list or value is None or type(value) in kinds
        is_heard = value and parameter.callback is not None  # as of --help
        if is_lacking or is_heard or not is_there or (is_list and isinstance(value, str)):
            return process(ctx, value)
        return list(value or ()) if is_list else value

    parameter.process_value = processed
    return parameter


def function_of(name: str) -> Callable[..., None]:
    """The function that runs a command."""
    module = next(module for module, names in _MODULES.items() if name in names)
    found: Callable[..., None] = getattr(
        import_module(f"sqlbn.cli.commands.{module}"), name.split()[-1]
    )
    return found


def _called(name: str, function: Callable[..., None]) -> Callable[..., None]:
    """A function with the options of the catalogue as its parameters, for the library to read."""
    own, keywords = COMMANDS[name].own_options, COMMANDS[name].keyword_options
    flags = {key: o for key, o in keywords.items() if not o.only_python}

    @reporting
    def called(**values: Any) -> None:
        STATE.quiet, STATE.traceback = (bool(values.pop(key, False)) for key in _TALK)
        _require_data(values)
        given = {key: _value(flags[key], values.pop(key)) for key in flags}
        arguments = {key: _value(own[key], value) for key, value in values.items()}
        if flags:
            arguments["options"] = {
                key: value for key, value in given.items() if value not in (None, ())
            }
        if name != "help":  # which needs no engine
            _sweep()
        function(**arguments)

    parameters = [_parameter(option) for option in _options_of(name).values()]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called


def _loads_more() -> bool:
    """Load the learners, each of which may bring options; whether one did."""
    from sqlbn.api.call import learner_options

    before = len(ADDED)
    learner_options()
    return len(ADDED) > before


def _sweep() -> None:
    """Remove what dead runs left behind, also for commands that start no engine."""
    from sqlbn.api.call import sweep

    sweep()


def _require_data(values: Mapping[str, Any]) -> None:
    """A usage error where nothing says which rows are meant."""
    if not values.get("data", True) and values.get("query") is None:
        raise typer.BadParameter("name files, or give --query", param_hint="DATA...")


def _value(option: Option, value: Any) -> Any:
    """What the API is given for the words of an option."""
    if value is None or option.argument:
        return value
    if option.name == "parents":
        return read_parents(value)
    if option.name in ("spark_conf", "given"):
        return tuple(pairs_in(value))
    return listed(value) if option.is_list else value


def _parameter(option: Option) -> inspect.Parameter:
    """An option as the library reads it off a signature."""
    told = option.shown_default
    text = option.help + (f" [default: {told}]" if told else "")
    kind = _word_type(option)
    default = inspect.Parameter.empty if option.required else option.default
    if option.argument:
        about = typer.Argument(metavar=option.metavar, help=text, show_default=False)
        optional: list[str] | None = [] if option.name == "data" else None
        default = inspect.Parameter.empty if option.type is str else optional
    else:
        about = typer.Option(
            *option.flags,
            metavar=option.metavar or ("LIST" if option.is_list else None),
            help=text,
            show_default=False,
            rich_help_panel=option.group,
        )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, about],
    )


def _word_type(option: Option) -> Any:
    """The type that the words of an option are read as."""
    if option.is_list or option.type == list[str]:
        return list[str] if option.required or option.argument else list[str] | None
    if option.type is bool:
        return bool
    origins = [typing.get_origin(kind) or kind for kind in option.kinds]
    simple = next((kind for kind in (int, float, str) if kind in origins), Path)
    return simple if option.required or option.default is not None else simple | None


class _Command(typer.core.TyperCommand):
    """A command whose help has its options in groups, and an example."""

    full_name = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words of a command; what is unknown may be an option of a learner not yet loaded."""
        try:
            return super().parse_args(ctx, list(args))
        except _USAGE as error:
            if type(error).__name__ != "NoSuchOption" or not _loads_more():
                raise
        ctx.command = made(self.full_name)
        found: list[str] = ctx.command.parse_args(ctx, args)
        return found

    def get_help_option(self, ctx: Any) -> Any:
        """The library's own option."""
        return take_words(super().get_help_option(ctx), bool)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then every group under its name."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                named = getattr(parameter, "rich_help_panel", None)
                if parameter.param_type_name == "argument":  # without the library's word for a type
                    named, record = _ARGUMENTS, (str(parameter.metavar), record[1])
                groups.setdefault(named or _OTHER, []).append(record)
        for name in (_ARGUMENTS, *GROUPS, _OTHER):
            if name in groups:
                with formatter.section(name):
                    formatter.write_dl(groups[name])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The example, as it is typed."""
        if self.epilog:
            formatter.write(f"\nExample:\n  {self.epilog}\n")
