"""The catalogue as Markdown: the block of help/options.md that a test compares with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlbn.options.catalogue import SearchKeywords
from sqlbn.options.command_options import COMMANDS, FitCommand
from sqlbn.options.option import GROUPS, Option, declared

BEGIN, END = "<!-- options: begin -->", "<!-- options: end -->"


def reference(takers: Mapping[str, Sequence[str]]) -> str:
    """All options in groups; `takers` are the learners that take an option, where not all do."""
    fit = declared(FitCommand)
    parts = [
        _table(f"### {group}", [o for o in _first(fit) if o.group == group], takers)
        for group in GROUPS
        if any(option.group == group for option in fit.values())
    ]
    search = declared(SearchKeywords).values()
    parts.append(_table("### Search for a network (`network learn`, `network follow`)", search, {}))
    parts.append("### Of single commands\n\n" + _of_commands())
    return "\n\n".join([BEGIN, *parts, END]) + "\n"


def _first(options: Mapping[str, Option]) -> Iterable[Option]:
    """The learner before what is told to it."""
    return [options["learner"], *(o for name, o in options.items() if name != "learner")]


def _table(title: str, options: Iterable[Option], takers: Mapping[str, Sequence[str]]) -> str:
    rows = [
        f"| {_name(o)} | {_type(o)} | {_text(o)}{_learners(takers.get(o.name, ()))} |"
        for o in options
    ]
    return "\n".join([title, "", "| option | value | what it says |", "| --- | --- | --- |", *rows])


def _of_commands() -> str:
    """Arguments and options that are not those of a fit, with the commands that have them."""
    known = {*declared(FitCommand).values(), *declared(SearchKeywords).values()}
    found: dict[Option, list[str]] = {}
    for name, taken in COMMANDS.items():
        for option in (*taken.own_options.values(), *taken.keyword_options.values()):
            if option not in known:
                found.setdefault(option, []).append(name)
    rows = [f"| {_name(o)} | {_text(o)} ({', '.join(names)}) |" for o, names in found.items()]
    return "\n".join(["| option | what it says, and the commands |", "| --- | --- |", *rows])


def _name(option: Option) -> str:
    if option.argument:
        return f"`{option.metavar}`"
    if option.only_python:
        return f"`{option.name}` (Python)"
    return f"`{', '.join(option.flags)}`"


def _type(option: Option) -> str:
    """The kind of value, in a word."""
    if option.type is bool:
        return "flag"
    if option.is_list:
        return "list"
    words = {int: "whole number", float: "number", str: "text"}
    return next((words[kind] for kind in option.kinds if kind in words), "file")


def _text(option: Option) -> str:
    default = f" [default: {option.shown_default}]" if option.shown_default else ""
    return f"{option.help}{default}".replace("|", "\\|")


def _learners(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def with_reference(page: str, block: str) -> str:
    """A page whose block between the two marks is this one."""
    before, _, rest = page.partition(BEGIN)
    return before + block.rstrip("\n") + rest.partition(END)[2]
