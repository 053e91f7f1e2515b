"""One catalogue of options: the program, Python, learners, stores and the page agree with it.

`SQLBN_UPDATE_GOLDEN=1 pytest tests/promises/test_option_catalogue.py` prints the catalogue into
sqlbn/help/options.md anew; read the diff.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import shlex
import subprocess
import sys
import typing
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from conftest import ROOT, Run

import sqlbn
from sqlbn.api import network_calls
from sqlbn.cli import command
from sqlbn.cli.main import app
from sqlbn.errors import OptionError
from sqlbn.evaluation.metrics import Evaluation
from sqlbn.exporting.targets import TARGETS
from sqlbn.kinds import losses
from sqlbn.kinds.kind import Kind
from sqlbn.kinds.product.product_kind import ProductKind
from sqlbn.learners import registry
from sqlbn.learners.fit_options import FitOptions, fit_options
from sqlbn.options import catalogue, reference
from sqlbn.options.command_options import COMMANDS
from sqlbn.options.option import GROUPS, Option, declared

PAGE = ROOT / "sqlbn" / "help" / "options.md"
ROWS = pa.table(
    {"suit": ["h", "s", "c", "h"] * 15, "size": [i % 7 for i in range(60)], "wins": ["y", "n"] * 30}
)
FIT = declared(catalogue.FitKeywords)


# -- Python ---------------------------------------------------------------------------------------


def keywords_of(function: Any) -> type:
    """The class of keywords that a function takes behind its own arguments."""
    hints = typing.get_type_hints(function, localns=vars(catalogue))
    name = next(
        p.name for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_KEYWORD
    )
    found: type = typing.get_args(hints[name])[0]
    return found


VERBS = {
    "fit": sqlbn.fit,
    "evaluate": sqlbn.evaluate,
    "stream": sqlbn.stream,
    "curve": sqlbn.curve,
    "update": sqlbn.update,
    "forget": sqlbn.forget,
    "merge": sqlbn.merge,
    "prepare": sqlbn.prepare,
    "rank": sqlbn.rank,
    "export": sqlbn.export,
    "predict": sqlbn.Model.predict,
    "network learn": sqlbn.networks.learn,
    "network follow": sqlbn.networks.follow,
    "network score": sqlbn.networks.score,
}


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the signatures name only for type checkers."""
    for module in {inspect.getmodule(verb) for verb in VERBS.values()} | {network_calls}:
        for name, value in {"Learner": sqlbn.Learner, "pa": pa, "Progress": object}.items():
            monkeypatch.setattr(module, name, value, raising=False)


@pytest.mark.parametrize("verb", VERBS)
def test_python_and_the_program_take_the_same(verb: str) -> None:
    function = VERBS[verb]
    own = inspect.signature(function).parameters
    keywords = declared(keywords_of(function))
    taken = COMMANDS[verb]
    options = {**taken.own_options, **taken.keyword_options}
    for name, option in options.items():
        if option.only_program or option.argument or name in ("json", "quiet"):
            continue
        # A stored model is found by the store's name; the engine of a prediction is that of `load`.
        if verb == "predict" and (name == "store" or name in declared(catalogue.EngineKeywords)):
            continue
        assert name in keywords or name in own, name
        if name in keywords:
            assert keywords[name].type == option.type, name
        elif name not in ("target", "store", "name", "like", "learners", "sizes", "of", "method"):
            assert own[name].default in (option.default, inspect.Parameter.empty), name


def test_values_of_a_fit_are_those_of_the_catalogue() -> None:
    own = {f.name for f in fields(FitOptions)} - {"target", "learner", "learner_options"}
    settings = set(declared(catalogue.SettingKeywords))
    assert own | registry.learner_options() | settings == set(FIT)
    assert not own & registry.learner_options()
    hints = typing.get_type_hints(FitOptions)
    for name in own:
        kinds = set(typing.get_args(hints[name]) or (hints[name],)) - {type(None)}
        assert kinds == set(FIT[name].kinds) or FIT[name].is_list, name
    usual = {f.name: f.default for f in fields(FitOptions) if f.name in own}
    for name, value in usual.items():
        if value not in (None, False, ()):
            assert (
                float(FIT[name].usual or "nan") == value
                if name == "m"
                else FIT[name].usual == value
            )


@pytest.mark.slow
def test_a_type_checker_accepts_and_refuses(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(
        "import sqlbn\n"
        'sqlbn.fit("a.parquet", "y", kmax=3, columns=["a"], threads=2)\n'
        'sqlbn.fit("a.parquet", "y", sqlbn.Skdb(kmax=3))\n'
        'sqlbn.evaluate("a.parquet", "y", learner=sqlbn.Ande(n=2), folds=3, m=0.5)\n'
    )
    bad.write_text(
        "import sqlbn\n"
        'sqlbn.fit("a.parquet", "y", kmax="x")\n'
        'sqlbn.fit("a.parquet", "y", kmaxx=3)\n'
        "sqlbn.Skdb(kmax='x')\n"
    )

    def told(path: Path) -> list[str]:
        words = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(path)]
        environment = {**os.environ, "MYPYPATH": str(ROOT)}
        done = subprocess.run(
            words, cwd=ROOT, capture_output=True, text=True, env=environment, check=False
        )
        return [line for line in done.stdout.splitlines() if path.name in line and "error" in line]

    assert told(good) == []
    lines = told(bad)
    assert [line.split(":")[1] for line in lines] == ["2", "3", "4"], lines


# -- learners -------------------------------------------------------------------------------------


def test_options_of_learners_are_those_of_the_catalogue() -> None:
    found = set()
    for learner in registry.learners().values():
        if not learner.__module__.startswith("sqlbn."):
            continue
        for name, option in registry.signature_options(learner).items():
            known = FIT[name]
            found.add(name)
            assert option.type in (known.type, typing.Any, typing.Optional[known.type]) or (  # noqa: UP045
                name in ("parents", "search")
            ), (learner.name, name)
            if option.usual is not None:
                assert option.usual in (known.usual or ""), (learner.name, name)
    assert found == set(declared(catalogue.LearnerKeywords))


def test_help_names_the_learners_that_take_an_option() -> None:
    for name in declared(catalogue.LearnerKeywords):
        if FIT[name].help.startswith("With"):
            continue
        for learner in takers()[name]:
            assert learner in FIT[name].help.replace(":", " ").replace(",", " ").split(), name


def takers() -> dict[str, list[str]]:
    """The learners that take an option, by their signatures."""
    own = {n: c for n, c in registry.learners().items() if c.__module__.startswith("sqlbn.")}
    return {
        name: [learner for learner in own if registry.takes(learner, name)]
        for name in declared(catalogue.LearnerKeywords)
    }


def test_learners_as_objects() -> None:
    named, made = (
        sqlbn.fit(ROWS, "wins", learner, **options).meta["options"]
        for learner, options in (("skdb", {"kmax": 1}), (sqlbn.Skdb(kmax=1), {}))
    )
    assert named == made
    assert repr(sqlbn.Ande(2, weighted=True)) == "Ande(n=2, weighted=True)"
    found = sqlbn.evaluate(ROWS, "wins", sqlbn.Nb(), folds=2)
    assert isinstance(found, Evaluation)
    assert len(sqlbn.stream(ROWS, "wins", sqlbn.Ande(n=1), batch=20)) == 2
    with pytest.raises(OptionError, match=r"kmax belongs to the learner: write it into Skdb\(\)"):
        sqlbn.fit(ROWS, "wins", sqlbn.Skdb(), kmax=1)
    with pytest.raises(OptionError, match="kmax=-1: give 0 or more parents"):
        sqlbn.Skdb(kmax=-1)
    for name in ("Nb", "Tan", "Kdb", "Skdb", "Eskdb", "Ande", "Fan", "SuperParent", "Fanc", "Spc",
                 "Spcr", "Tc", "Collection", "Snb", "Hgc", "Vfbn1", "Vfbn2"):  # fmt: skip
        assert issubclass(getattr(sqlbn, name), sqlbn.Learner)
        assert name in dir(sqlbn)
    assert {c.__name__ for c in registry.learners().values()} <= set(dir(sqlbn))


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"kmax": "x"}, "kmax='x': give a whole number"),
        ({"kmax": -1}, "kmax=-1: give 0 or more parents"),
        ({"m": "x"}, "m='x': give a number"),
        ({"learner": "kdb", "kmax": 2}, "kmax is not for the learner kdb; it goes with eskdb, "
         "skdb; kdb takes k, members"),
        ({"learner": "nb", "k": 2}, "k is not for the learner nb; it goes with kdb; "
         "nb takes members"),
        ({"learner": "snb", "k": 2}, "k is not for the learner snb; it goes with kdb; "
         "snb takes map"),
        ({"learner": "a1de", "n": 2}, "n is already said by the name a1de; use ande"),
        ({"learner": "a1de", "min_count": 2}, "min_count requires subsumption=True"),
    ],
)  # fmt: skip
def test_what_is_refused(given: dict[str, Any], line: str) -> None:
    with pytest.raises(OptionError) as caught:
        fit_options(
            "wins", {k: v for k, v in given.items() if k != "learner"}, given.get("learner")
        )
    assert str(caught.value) == line


def test_an_unknown_option_is_told_the_valid_ones() -> None:
    with pytest.raises(OptionError, match=r"unknown option 'kay'; valid: attributes, backoff, .*"):
        sqlbn.fit(ROWS, "wins", kay=3)  # type: ignore[call-arg]
    with pytest.raises(OptionError, match=r"unknown option 'kmax'; valid: where, table, "):
        sqlbn.fit(ROWS, "wins", "nb").predict(ROWS, kmax=3)  # type: ignore[call-arg]
    with pytest.raises(OptionError, match=r"kmax is not for rank, .* it takes where, table, "):
        sqlbn.rank(ROWS, "wins", kmax=3)  # type: ignore[call-arg]
    with pytest.raises(OptionError, match=r"unknown option 'tau_'; valid: score, ess, "):
        sqlbn.fit(ROWS, "wins", "vfbn2", search={"tau_": 0.1})


@pytest.fixture
def toy() -> Iterator[type[sqlbn.Learner]]:
    """A learner in one place, with an option that nothing else knows."""

    class Toy(sqlbn.Learner):
        """Naive Bayes with an option.

        colour: which of them
        """

        name, summary = "toy", "naive Bayes with an option"

        def __init__(
            self,
            depth: Annotated[int, "how deep it goes"] = 2,
            colour: str = "red",
            kmax: int = 1,
        ) -> None:
            if depth < 1:
                raise OptionError("give at least 1", depth=depth)

        @property
        def kind(self) -> Kind:
            return ProductKind()

    sqlbn.register(Toy)
    yield Toy
    registry.unregister(Toy)


def test_a_learner_of_ones_own(
    toy: Any, cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(ROWS, "rows.parquet")
    with sqlbn.fit(ROWS, "wins", learner="toy", depth=3, kmax=2) as model:  # type: ignore[call-arg]
        assert model.meta["options"] | {"bins": 5, "discretise": "ef"} == model.meta["options"]
        assert (model.meta["options"]["depth"], model.meta["options"]["kmax"]) == (3, 2)
        model.save("m.duckdb", "object")
    sqlbn.update("m.duckdb", "object", ROWS)
    with sqlbn.load("m.duckdb", "object") as model:
        assert (model.meta["learner"], model.meta["options"]["depth"]) == ("toy", 3)
    assert sqlbn.fit(ROWS, "wins", toy(depth=4)).meta["options"]["depth"] == 4
    fit = ["fit", "rows.parquet", "-t", "wins", "-l", "toy", "--depth"]
    assert cli(*fit, 5, "--colour", "blue").returncode == 0
    assert sqlbn.models("models.duckdb")["model"]["options"]["colour"] == "blue"
    assert cli(*fit, 0, "--replace").stderr == "sqlbn: --depth 0: give at least 1\n"
    told = " ".join(cli("fit", "--help").stdout.split())
    assert "--depth <int> toy: how deep it goes [default: 2]" in told
    assert "--colour <str> toy: which of them [default: red]" in told
    with pytest.raises(OptionError, match="depth is not for the learner nb; it goes with toy"):
        sqlbn.fit(ROWS, "wins", "nb", depth=3)  # type: ignore[call-arg]


def test_two_learners_of_one_name(toy: Any) -> None:
    class Other(toy):  # type: ignore[misc]
        pass

    with pytest.raises(ValueError, match="there is a learner 'toy' already"):
        sqlbn.register(Other)
    with pytest.raises(OptionError, match="the class Other is not a registered learner"):
        sqlbn.fit(ROWS, "wins", Other())


# -- the program ----------------------------------------------------------------------------------


def flags() -> Iterator[tuple[str, Option]]:
    for name, taken in COMMANDS.items():
        for option in (*taken.own_options.values(), *taken.keyword_options.values()):
            if not option.argument and not option.only_python:
                yield name, option


def test_a_short_flag_has_one_meaning() -> None:
    meanings: dict[str, set[str]] = {}
    for _, option in flags():
        for flag in option.flags[1:]:
            meanings.setdefault(flag, set()).add(option.name)
    assert meanings == {
        "-f": {"format"}, "-l": {"learner"}, "-o": {"out"}, "-q": {"quiet"}, "-s": {"store"},
        "-t": {"target"},
    }  # fmt: skip
    for name, taken in COMMANDS.items():
        assert not taken.own_options.keys() & taken.keyword_options.keys(), name


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_groups_and_an_example(name: str, cli: Run) -> None:
    taken = COMMANDS[name]
    text = cli(*name.split(), "--help").stdout
    assert text.rstrip().endswith(f"Example:\n  {taken.example}")
    for option in (*taken.own_options.values(), *taken.keyword_options.values()):
        if option.argument:
            assert str(option.metavar) in text
            continue
        assert (option.flags[0] in text) == (not option.only_python)
        assert option.only_python or f"\n{option.group}:\n" in text
    sections = [line[:-1] for line in text.splitlines() if line[:1].isalpha() and line[-1:] == ":"]
    known = ["Arguments", *GROUPS, "Other", "Example"]
    assert sections == [group for group in known if group in sections]
    doc = inspect.getdoc(command.function_of(name)) or ""
    assert doc.split("\n\n")[0].replace("\n", " ") == taken.summary


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_taken_apart(name: str) -> None:
    """Words that the program would run; the pages' commands run in the tests of the guide."""
    words = shlex.split(COMMANDS[name].example)
    assert words[0] == "sqlbn" and words[1 : 1 + len(name.split())] == name.split()
    made = command.made(name)
    context = made.make_context(name, words[1 + len(name.split()) :], resilient_parsing=False)
    given = {key for key, value in context.params.items() if value not in (None, False, [])}
    assert given


def test_the_program_starts_without_heavy_libraries() -> None:
    code = (
        "import sys; from sqlbn.cli import main; sys.argv[1:] = {!r}\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('duckdb', 'numpy', 'pyarrow', 'jinja2') if m in sys.modules])"
    )
    for words in (["--version"], ["--help"], ["fit", "--help"], ["network", "--help"], ["help"]):
        done = subprocess.run(
            [sys.executable, "-c", code.format(words)], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "[]", words


def test_the_program_imports_the_api_and_the_options_only() -> None:
    allowed = ("sqlbn.api", "sqlbn.options", "sqlbn.errors", "sqlbn.text", "sqlbn.cli")
    for path in (ROOT / "sqlbn" / "cli").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        checked = [
            n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE" in ast.dump(n.test)
        ]
        typed = {id(inner) for n in checked for inner in ast.walk(n)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and id(node) not in typed:
                room = ".".join((node.module or "").split(".")[:2])
                assert room in (*allowed, "sqlbn") or not room.startswith("sqlbn"), (path, room)


def test_commands_are_those_of_the_catalogue() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    found = set()
    for name in group.list_commands(None):  # type: ignore[arg-type]
        inner = group.get_command(None, name)  # type: ignore[arg-type]
        names = inner.list_commands(None) if hasattr(inner, "list_commands") else [""]
        found |= {f"{name} {sub}".strip() for sub in names}
    assert found == set(COMMANDS)


# -- words that other rooms have, stores and the page ---------------------------------------------


def test_words_are_those_of_the_rooms() -> None:
    assert catalogue.LOSSES == losses.LOSSES
    assert tuple(TARGETS) == catalogue.DIALECTS


def test_options_are_stored_and_read_back(tmp_path: Path) -> None:
    from sqlbn.updates.stored_model import options_of

    given: dict[str, Any] = {"kmax": 1, "select": "k", "loss": "brier", "bins": 3, "m": 0.5}
    with sqlbn.fit(ROWS, "wins", "skdb", where="size < 6", unseen="smoothed", **given) as model:
        told = options_of(model.spec)
        assert json.loads(model.spec.meta["options"]) == told.stored
        assert told.learner_options == {"kmax": 1, "select": "k", "loss": "brier"}
        assert (told.bins, told.m, told.where, told.unseen) == (3, 0.5, "size < 6", "smoothed")


def test_the_page_is_the_catalogue() -> None:
    block = reference.reference(takers())
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("SQLBN_UPDATE_GOLDEN") == "1":
        page = reference.with_reference(page, block)
        PAGE.write_text(page, encoding="utf-8")
    assert block.strip() in page
    for _, option in flags():
        assert f"`{option.flags[0]}" in block
