"""The README and the pages of `sqlbn help`: their commands run, and they leave nothing out.

The blocks of a page run in their order in a folder with `examples/` and a store that holds the
model `adult` of the README; `sh`, `python` and `sql` must not fail, and what `console` shows must
be what is printed (… stands for anything). A block that cannot run here has a comment before it
that says why: `<!-- not run: needs a cluster -->`.
"""

from __future__ import annotations

import doctest
import inspect
import itertools
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
import typer.main
from conftest import ROOT, Demo, Run

import sqlbn
from sqlbn import networks
from sqlbn.cli import guide
from sqlbn.cli.main import app

HELP = Path(sqlbn.__file__).parent / "help"
PAGES = {"README": ROOT / "README.md"} | {topic: HELP / f"{topic}.md" for topic in guide.TOPICS}
RUN = ("sh", "console", "python", "sql")
FENCE = re.compile(
    r"(?:^<!-- not run: (?P<why>.+?) -->\n)?^```(?P<kind>\w*)\n(?P<code>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """Fenced code, and why it does not run where it does not."""

    kind: str
    code: str
    why: str | None


def blocks(page: str) -> list[Block]:
    text = PAGES[page].read_text(encoding="utf-8")
    return [Block(found["kind"], found["code"], found["why"]) for found in FENCE.finditer(text)]


@pytest.fixture
def place(demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the commands of a page find what they name."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shutil.copy(demo.store, tmp_path / "models.duckdb")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(page: str, place: Path, cli: Run) -> None:
    names: dict[str, Any] = {}
    for is_sql, group in itertools.groupby(blocks(page), lambda block: block.kind == "sql"):
        wanted = [block for block in group if block.why is None]
        if is_sql:
            run_sql("".join(block.code for block in wanted))
            continue
        for block in wanted:
            run_block(block, cli, names)


def run_block(block: Block, cli: Run, names: dict[str, Any]) -> None:
    if block.kind == "sh":
        for line in commands_in(block.code):
            if Demo.is_its_fit(line):  # it has been run, and its model is in the store
                continue
            done = cli(*line)
            assert done.returncode == 0, (line, done.stderr)
    elif block.kind == "console":
        for line, wanted in shown_in(block.code):
            done = cli(*line)
            got = done.stdout if done.returncode == 0 else done.stderr
            assert said(wanted, got), (line, got)
    elif block.kind == "python":
        exec(compile(block.code, "<page>", "exec"), names)
    elif block.kind == "toml":
        Path("parents.toml").write_text(block.code)


def commands_in(code: str) -> list[list[str]]:
    """The words of each line; every line is a call of sqlbn, and needs no shell."""
    lines = [shlex.split(line, comments=True) for line in code.replace("\\\n", " ").splitlines()]
    found = [words for words in lines if words]
    for words in found:
        assert words[0] == "sqlbn" and not {"|", ">", "&&", ";"} & set(words), words
    return [words[1:] for words in found]


def shown_in(code: str) -> list[tuple[list[str], str]]:
    """Commands behind `$`, each with the lines that are shown below it."""
    sessions = re.split(r"^\$ ", code, flags=re.M)[1:]
    parts = [session.partition("\n") for session in sessions]
    return [(commands_in(line)[0], shown) for line, _, shown in parts]


def said(wanted: str, got: str) -> bool:
    """Whether a text is the one shown; … stands for anything."""
    pattern = re.sub(r"…\n(?=…|$)", "…\n", wanted).replace("…", "...")
    return doctest.OutputChecker().check_output(pattern, got, doctest.ELLIPSIS)


def run_sql(code: str) -> None:
    """Statements as one session of the duckdb program reads them, with its `.read`."""
    code = re.sub(r"^\.read (.+)$", lambda found: Path(found[1]).read_text(), code, flags=re.M)
    with duckdb.connect() as con:
        for statement in duckdb.extract_statements(code):
            con.execute(statement).fetchall()


# -- what must be there ------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_commands_that_run(page: str) -> None:
    found = blocks(page)
    assert [b for b in found if b.kind in RUN and b.why is None]
    assert {b.kind for b in found} <= {*RUN, "toml"}
    fences = PAGES[page].read_text(encoding="utf-8").count("\n```")
    assert fences == 2 * len(found)


def test_the_readme_is_short() -> None:
    assert len(PAGES["README"].read_text(encoding="utf-8").splitlines()) <= 200


def test_every_file_is_a_topic() -> None:
    assert sorted(guide.TOPICS) == sorted(path.stem for path in HELP.glob("*.md"))


def all_pages() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in PAGES.values())


def test_every_command_is_on_a_page() -> None:
    text, missing = all_pages(), []

    def walk(command: Any, words: tuple[str, ...]) -> None:
        inner = getattr(command, "commands", None)
        for name, sub in (inner or {}).items():
            walk(sub, (*words, name))
        if inner is None and not re.search(rf"\b{' '.join(words)}\b", text):
            missing.append(" ".join(words))

    walk(typer.main.get_command(app), ("sqlbn",))
    assert missing == []


def functions_of(module: Any) -> list[str]:
    return [name for name in module.__all__ if inspect.isfunction(getattr(module, name))]


def test_every_public_function_is_on_a_page() -> None:
    text = all_pages()
    wanted = {f"sqlbn.{name}" for name in functions_of(sqlbn)}
    wanted |= {f"networks.{name}" for name in functions_of(networks)}
    assert len(wanted) > 20
    aliases = {"networks.read_bif", "networks.write_bif", "networks.sample"}  # as sqlbn.…
    missing = [name for name in sorted(wanted - aliases) if not re.search(rf"\b{name}\b", text)]
    methods = [name for name, _ in inspect.getmembers(sqlbn.Model) if not name.startswith("_")]
    unknown = {
        "spec",
        "shape",
        "encoding",
        "write_predictions",
        "has_macro",
    }  # of the program itself
    missing += [f"model.{n}" for n in methods if n not in unknown and f"`{n}`" not in text]
    assert missing == []


def test_pages_that_are_named_exist() -> None:
    named = set(re.findall(r"sqlbn\s+help\s+([a-z]+)", all_pages()))
    assert named - {"kdb"} <= set(guide.TOPICS)  # the example of an unknown one


def test_files_that_the_map_of_the_house_names_exist() -> None:
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:sqlbn|sql|tests|examples)/[\w./*]+)`", text))
    named |= {f"sqlbn/**/{name}" for name in re.findall(r"`(\w+\.py)`", text)}
    assert len(named) > 40
    lacking = {name for name in named if next(ROOT.glob(name), None) is None}
    assert lacking == set()
    files = [p for p in (ROOT / "sqlbn").glob("[a-z]*/*.[pm]*") if not p.name.startswith("_")]
    rooms = {f"sqlbn/{path.parent.name}/" for path in files}
    assert rooms - named == set()


# -- sqlbn help --------------------------------------------------------------------------------


def test_help_lists_the_pages(cli: Run) -> None:
    done = cli("help")
    assert done.returncode == 0
    for topic in guide.TOPICS:
        about = guide.about(guide.page(topic))
        assert about and f"sqlbn help {topic:<10}  {about}\n" in done.stdout


@pytest.mark.parametrize("topic", guide.TOPICS)
def test_a_page_fits_a_terminal(topic: str, cli: Run) -> None:
    printed = cli("help", topic).stdout
    assert printed.startswith("# ")
    assert "```" not in printed and "<!--" not in printed
    assert [line for line in printed.splitlines() if len(line) > 100] == []


def test_an_unknown_topic_is_one_line(cli: Run) -> None:
    done = cli("help", "kdb")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "'kdb'" in done.stderr and ", ".join(guide.TOPICS) in done.stderr


def test_bars_in_cells_and_code_are_kept() -> None:
    page = "| a | b |\n| --- | --- |\n| P(A \\| B) | 2 |\n\n```sh\n| x | y |\n| --- | --- |\n```\n"
    assert guide.plain(page).splitlines() == [
        "a         b",
        "--------  -",
        "P(A | B)  2",
        "",
        "    | x | y |",
        "    | --- | --- |",
    ]


def test_wide_columns_of_a_table_share_the_width() -> None:
    words = " ".join(["word"] * 30)
    page = f"| a | b | c |\n| --- | --- | --- |\n| x | {words} | {words} |\n"
    lines = guide.plain(page).splitlines()
    assert max(map(len, lines)) <= guide.WIDTH
    assert " ".join(lines).count("word") == 60
