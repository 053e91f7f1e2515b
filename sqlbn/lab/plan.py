"""What a bench is to run: data sets, learners, folds; read from a TOML file or made of flags.

A mistake names the file, the line and the keys that there are.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlbn.errors import OptionError, opt
from sqlbn.evaluation.cross_validation import named_learner
from sqlbn.evaluation.metrics import check_measure
from sqlbn.lab.comparators import COMPARATORS, Comparator, comparator
from sqlbn.learners.fit_options import FitOptions, fit_options
from sqlbn.learners.registry import learner_options, takes
from sqlbn.options.catalogue import DEFAULT_LEARNER, EFFORTS
from sqlbn.options.user_values import read_small_file

_PLAN_KEYS = (
    "title",
    "repeats",
    "folds",
    "seed",
    "measures",
    "predictions",
    "options",
    "sets",
    "learners",
)
_SET_KEYS = ("name", "data", "target", "options")
_LEARNER_KEYS = ("name", "learner", "comparator", "options")
_MOST_BYTES = 1 << 20
DEFAULT_MEASURES = ("rmse", "zero_one", "log_loss")


@dataclass(frozen=True)
class DataSet:
    """Rows to learn from and to test on; `options` say which rows and columns."""

    name: str
    data: str
    target: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Contestant:
    """A learner of ours with its options, or a comparator of somebody else's with its own."""

    name: str
    learner: str | None = None
    comparator: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def fit_options(self, data_set: DataSet, common: Mapping[str, Any]) -> FitOptions:
        """The options of a fit; of the common ones those that this learner takes."""
        own, told = learner_options(), {**common, **data_set.options}
        if self.comparator is not None:
            rest = {key: value for key, value in told.items() if key not in own}
            return fit_options(data_set.target, rest, "nb")
        name = (self.learner or DEFAULT_LEARNER).partition(":")[0]
        given = {key: value for key, value in told.items() if key not in own or takes(name, key)}
        if self.learner is None or ":" not in self.learner:
            return fit_options(data_set.target, {**given, **self.options}, self.learner)
        others = {key: v for key, v in {**given, **self.options}.items() if key not in own}
        plain = fit_options(data_set.target, others, "nb")
        return named_learner(self.learner, plain, {**given, **self.options})

    def made(self) -> Comparator:
        """The comparator; an error where its options are none of its own."""
        assert self.comparator is not None
        return comparator(self.comparator, self.options)


@dataclass(frozen=True)
class Plan:
    """What is to be run, and which measures are compared."""

    sets: tuple[DataSet, ...]
    learners: tuple[Contestant, ...]
    title: str = ""
    repeats: int = 1
    folds: int = 10
    seed: int = 0
    measures: tuple[str, ...] = DEFAULT_MEASURES
    predictions: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    quick_rows: int | None = None

    def checked(self) -> Plan:
        """The plan; an error where it cannot be run."""
        if not self.sets:
            raise OptionError(f"name data sets: in a plan, or with {opt('sets')}")
        if not self.learners:
            raise OptionError(f"name learners: in a plan, or with {opt('learners')}")
        if self.repeats < 1:
            raise OptionError("give at least 1", repeats=self.repeats)
        if self.folds < 2:
            raise OptionError("give at least 2", folds=self.folds)
        for measure in self.measures:
            check_measure(measure)
        for what, names in (("sets", self.sets), ("learners", self.learners)):
            _check_once(what, [item.name for item in names])
        for learner in self.learners:
            if learner.comparator is not None:
                learner.made()
            for data_set in self.sets:
                learner.fit_options(data_set, self.options)
        return self

    # -- what a results file keeps of it ------------------------------------------------------

    def said(self) -> dict[str, Any]:
        """All that decides results, for a results file."""
        return {
            "folds": self.folds,
            "seed": self.seed,
            "quick_rows": self.quick_rows,
            "options": dict(self.options),
            "sets": {s.name: [s.data, s.target, dict(s.options)] for s in self.sets},
            "learners": {c.name: [c.learner, c.comparator, dict(c.options)] for c in self.learners},
        }

    def joined(self, before: Mapping[str, Any], path: Path) -> dict[str, Any]:
        """What was said before and what this plan adds; an error where they contradict."""
        now: dict[str, Any] = json.loads(json.dumps(self.said()))
        for key in ("folds", "seed", "quick_rows", "options"):
            if before.get(key) != now[key]:
                raise _other_bench(path, f"{key} {before.get(key)!r}, not {now[key]!r}")
        for key in ("sets", "learners"):
            for name, what in now[key].items():
                if name in before[key] and before[key][name] != what:
                    raise _other_bench(path, f"another {key[:-1]} {name!r}")
            now[key] = {**before[key], **now[key]}
        return now


def _other_bench(path: Path, how: str) -> OptionError:
    return OptionError(
        f"these are the results of another bench, with {how}; name another file", out=path
    )


def _check_once(what: str, names: Sequence[str]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(
            f"{twice[0]!r} occurs twice among the {what}; give each a name of its own"
        )


# -- flags ----------------------------------------------------------------------------------------


def set_of(text: str) -> DataSet:
    """A data set written as in `adult=adult.parquet:class`; without a name it is the file's.

    >>> set_of("rows/a.parquet:y").name, set_of("x=rows/*.csv:the class").target
    ('a', 'the class')
    """
    name, equals, rest = text.partition("=")
    path, colon, target = (rest if equals else text).rpartition(":")
    if not colon or not path or not target:
        raise OptionError("write FILE:TARGET, or NAME=FILE:TARGET", sets=text)
    return DataSet(name if equals else Path(path).stem, path, target)


def learner_of(text: str) -> Contestant:
    """A learner written as in `kdb:3`, an effort, or a comparator by its name.

    >>> learner_of("kdb:3").learner, learner_of("lightgbm").comparator
    ('kdb:3', 'lightgbm')
    """
    if text in COMPARATORS:
        return Contestant(text, comparator=text)
    if text in EFFORTS:
        return Contestant(text, options={"effort": text})
    named_learner(text, FitOptions("class", "nb"), {})  # an error where there is none
    return Contestant(text, learner=text)


# -- TOML -----------------------------------------------------------------------------------------


def read_plan(path: Path) -> Plan:
    """The plan in a file; files of data are named relative to it."""
    try:
        text = read_small_file(path, "plan", _MOST_BYTES).decode("utf-8")
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"no TOML: {error}", plan=path) from error
    file = _File(path, text)
    file.check_keys(document, _PLAN_KEYS, "")
    sets = [
        file.table(t, "sets", i, _SET_KEYS) for i, t in enumerate(file.tables(document, "sets"))
    ]
    learners = [
        file.table(t, "learners", i, _LEARNER_KEYS)
        for i, t in enumerate(file.tables(document, "learners"))
    ]
    found = Plan(
        tuple(_data_set(file, t, i) for i, t in enumerate(sets)),
        tuple(_contestant(file, t, i) for i, t in enumerate(learners)),
        title=str(document.get("title", path.stem)),
        options=file.options(document, "", 0),
    )
    whole: dict[str, Any] = {
        key: file.whole(document, key) for key in ("repeats", "folds", "seed") if key in document
    }
    measures = document.get("measures", DEFAULT_MEASURES)
    if not isinstance(measures, list | tuple) or not all(isinstance(m, str) for m in measures):
        raise file.error("measures is a list of names", "measures")
    wants = bool(document.get("predictions", False))
    return replace(found, measures=tuple(measures), predictions=wants, **whole)


@dataclass(frozen=True)
class _File:
    """A TOML file, to say where a mistake is."""

    path: Path
    text: str

    def error(self, problem: str, key: str, section: str = "", number: int = 0) -> OptionError:
        line = self._line(key, section, number)
        return OptionError(f"line {line}: {problem}", plan=self.path)

    def _line(self, key: str, section: str, number: int) -> int:
        """The line that sets a key in a section, or that begins the section."""
        at, seen, begun = "", -1, 1
        pattern = re.compile(rf"(^|[{{,\s.]){re.escape(key)}\s*=|[\"']{re.escape(key)}[\"']\s*=")
        for place, line in enumerate(self.text.splitlines(), 1):
            header = re.match(r"\s*\[\[?\s*([\w.]+)\s*\]\]?", line)
            if header:
                at = header[1].partition(".")[0]
                if header[1] == section:
                    seen, begun = seen + 1, place if seen + 1 == number else begun
            if at == section and (not section or seen == number) and pattern.search(line):
                return place
        return begun

    def check_keys(
        self, table: Mapping[str, Any], known: Iterable[str], section: str, number: int = 0
    ) -> None:
        for key in table:
            if key not in known:
                raise self.error(
                    f"unknown key {key!r}; there is {', '.join(known)}", key, section, number
                )

    def tables(self, document: Mapping[str, Any], key: str) -> list[Any]:
        found = document.get(key, [])
        if not isinstance(found, list):
            raise self.error(f"write [[{key}]], once for each", key)
        return found

    def table(self, table: Any, section: str, number: int, known: Sequence[str]) -> Any:
        if not isinstance(table, dict):
            raise self.error(f"write [[{section}]], once for each", section)
        self.check_keys(table, known, section, number)
        for key in known:
            if key != "options" and not isinstance(table.get(key, ""), str):
                raise self.error(f"{key} is a text", key, section, number)
        return table

    def options(self, table: Mapping[str, Any], section: str, number: int) -> dict[str, Any]:
        found = table.get("options", {})
        if not isinstance(found, dict):
            raise self.error("options is a table", "options", section, number)
        return found

    def whole(self, document: Mapping[str, Any], key: str) -> int:
        value = document[key]
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"{key} is a whole number", key)
        return value

    def required(self, table: Mapping[str, Any], key: str, section: str, number: int) -> str:
        if key not in table:
            raise self.error(f"{section} need {key!r}", key, section, number)
        return str(table[key])


def _data_set(file: _File, table: Mapping[str, Any], number: int) -> DataSet:
    data = file.required(table, "data", "sets", number)
    target = file.required(table, "target", "sets", number)
    if "://" not in data and not Path(data).is_absolute():
        data = str(file.path.parent / data)
    options = file.options(table, "sets", number)
    found = DataSet(str(table.get("name", Path(data).stem)), data, target, options)
    _try(file, "sets", number, lambda: Contestant("nb", "nb").fit_options(found, {}))
    return found


def _contestant(file: _File, table: Mapping[str, Any], number: int) -> Contestant:
    learner, other = table.get("learner"), table.get("comparator")
    if len([x for x in (learner, other, table.get("options", {}).get("effort")) if x]) != 1:
        problem = "give 'learner', 'comparator', or an effort in 'options'"
        raise file.error(problem, "learner", "learners", number)
    found = Contestant(
        str(table.get("name", learner or other)),
        learner,
        other,
        file.options(table, "learners", number),
    )
    blank = DataSet("", "", "class")
    check = found.made if other is not None else lambda: found.fit_options(blank, {})
    _try(file, "learners", number, check)
    return found


def _try(file: _File, section: str, number: int, check: Any) -> None:
    """An error of options that says where they stand."""
    try:
        check()
    except OptionError as error:
        key = next((k for k in ("options", "learner", "comparator", "name") if k in str(error)), "")
        raise file.error(str(error), key or "options", section, number) from error
