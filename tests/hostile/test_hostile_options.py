"""Options of every kind and size: each works, or is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile_cases import copied, made_data, made_store, refused, survived


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("options")
    made_data(folder)
    made_store(folder)
    (folder / "nested.toml").write_text("[parents]\nx = " + "[" * 100_000)
    (folder / "latin.toml").write_bytes(b"[parents]\nx = '\xe9'")
    (folder / "list.toml").write_text("parents = 3")
    (folder / "huge.toml").write_text("[parents]\nx = " + "9" * 5000)
    return folder


HUGE = 10**30
LARGE = 2**63 - 1
WHOLE = {
    "fit": ["k", "kmax", "seed"],
    "fit --effort quick": ["bins", "loocv-sample", "structure-sample"],
    "fit -l ande": ["n", "attributes"],
    "fit -l a1de-s": ["min-count"],
    "fit -l fanc": ["parents-from-first"],
    "fit -l tan --bound normal": ["block"],
    "evaluate -l nb": ["folds"],
    "stream -l nb": ["batch", "window"],
    "rank": ["top"],
}


@pytest.mark.parametrize("value", [HUGE, -HUGE])
@pytest.mark.parametrize(("command", "option"), [(c, o) for c, many in WHOLE.items() for o in many])
def test_a_number_past_64_bits(command: str, option: str, value: int, place: Path) -> None:
    name, *more = command.split()
    told = refused(name, place / "data.parquet", "-t", "y", *more, f"--{option}", value)
    assert f"--{option}" in told


@pytest.mark.parametrize("value", [LARGE, 0, -1])
@pytest.mark.parametrize(("command", "option"), [(c, o) for c, many in WHOLE.items() for o in many])
def test_a_number_of_any_size(
    command: str, option: str, value: int, place: Path, tmp_path: Path
) -> None:
    name, *more = command.split()
    words = [place / "data.parquet", "-t", "y", *more, f"--{option}", value]
    words += ["--store", tmp_path / "s.duckdb", "--name", "m"] if name == "fit" else []
    survived(name, *words, "--quiet")


REAL = ["nan", "inf", "-1", "1e-320", "x", ""]


@pytest.mark.parametrize("value", REAL)
@pytest.mark.parametrize("option", ["m", "tau", "delta", "delta-star"])
def test_a_number_with_a_point(option: str, value: str, place: Path, tmp_path: Path) -> None:
    more = ["--bound", "normal", "-l", "tan"] if option != "m" else []
    survived(
        "fit", place / "data.parquet", "-t", "y", "-q", *more, f"--{option}", value,
        "--store", tmp_path / "s.duckdb", "--name", "m",
    )  # fmt: skip


@pytest.mark.parametrize("value", ["nan", "inf", "2", "-0.1", "1e-320"])
@pytest.mark.parametrize("option", ["noise", "missing"])
def test_a_share(option: str, value: str, tmp_path: Path) -> None:
    survived(
        "sample", "--random", "nb", "--rows", 10, "--out", tmp_path / "o.csv", f"--{option}", value
    )


SIZES = ["attributes", "values", "classes", "irrelevant", "rows", "seed", "edges"]


@pytest.mark.parametrize("value", [-1, 0, 100_000_000, HUGE])
@pytest.mark.parametrize("option", SIZES)
def test_a_size_of_what_is_drawn(option: str, value: int, tmp_path: Path) -> None:
    if option == "rows" and value == 100_000_000:
        pytest.skip("so many rows can be drawn")
    kind = "ban" if option == "edges" else "nb"
    words = {"--rows": 10, "--out": tmp_path / "o.csv", f"--{option}": value}
    survived("sample", "--random", kind, *(w for pair in words.items() for w in pair), "-q")


PATHS: dict[str, list[object]] = {
    "store": ["fit", "DATA", "-t", "y", "--name", "m", "-q", "--store"],
    "store-table": ["fit", "DATA", "-t", "y", "--name", "m", "-q", "--store-table"],
    "temp-dir": ["fit", "DATA", "-t", "y", "--name", "m", "-q", "--temp-dir"],
    "parents": ["fit", "DATA", "-t", "y", "-l", "collection", "--name", "m", "-q", "--parents"],
    "out": ["predict", "m", "DATA", "--store", "STORE", "--out"],
    "from": ["merge", "m", "m", "--name", "o", "--store", "STORE", "--from"],
    "bif": ["network", "query", "--of", "x", "--bif"],
    "plot": ["curve", "DATA", "-t", "y", "--learners", "nb", "--sizes", 10, "--plot"],
    "data": ["fit", "-t", "y", "--name", "m", "-q"],
    "cluster-dir": ["fit", "DATA", "-t", "y", "--name", "m", "-q", "--cluster-dir"],
}
NO_PATHS = ["", "\udce9", "x" * 5000, "/dev/zero", "/proc/self/mem", "no/such/folder/x"]


@pytest.mark.parametrize("value", NO_PATHS, ids=["empty", "bytes", "long", "zero", "mem", "none"])
@pytest.mark.parametrize("option", PATHS)
def test_a_path_that_is_none(
    option: str, value: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = copied(place / "models.duckdb", tmp_path)
    before = store.read_bytes()
    monkeypatch.chdir(tmp_path)
    known = {"DATA": place / "data.parquet", "STORE": store}
    words = [known.get(str(w), w) for w in PATHS[option]]
    work = {("temp-dir", "no/such/folder/x"), ("store-table", "no/such/folder/x")}
    work |= {("store-table", "\udce9"), ("cluster-dir", "")}
    run = survived if (option, value) in work else refused
    run(*words, value)
    if (option, value) not in work:
        assert store.read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["models.duckdb"]


@pytest.mark.parametrize("name", ["nested", "latin", "list", "huge"])
def test_a_file_of_parents_that_is_none(name: str, place: Path) -> None:
    words = ["fit", place / "data.parquet", "-t", "y", "-l", "collection", "--name", "m"]
    assert name in refused(*words, "--parents", place / f"{name}.toml")


TEXTS = ["", "a\x00\x1b[2J", "'; DROP TABLE t; --", "\udce9"]
WORDS = [
    "learner", "select", "loss", "score", "superparent", "order", "estimate", "missing", "bound",
    "backoff", "discretise", "encodings", "weight", "columns", "exclude", "categorical", "numeric",
    "keep", "where", "table", "query", "memory-limit", "disk-limit", "engine", "name", "target",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("option", WORDS)
def test_a_text_that_is_none_of_ours(option: str, text: str, place: Path, tmp_path: Path) -> None:
    words = {"--target": "y", "--store": tmp_path / "s.duckdb", "--name": "m", f"--{option}": text}
    survived("fit", place / "data.parquet", "-q", *(w for pair in words.items() for w in pair))
