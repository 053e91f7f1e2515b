"""Networks: what is none, BIF files read and written, mistakes in them, random models."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import examples

import sqlbn
from sqlbn.errors import NetworkError, OptionError
from sqlbn.networks import Network, Variable
from sqlbn.networks.random_networks import RandomModel, random_network, with_irrelevant

SIZES = {
    "alarm": (37, 46),
    "asia": (8, 8),
    "cancer": (5, 4),
    "child": (20, 25),
    "earthquake": (5, 4),
    "hailfinder": (56, 66),
    "insurance": (27, 52),
    "sachs": (11, 17),
    "survey": (6, 6),
    "water": (32, 66),
}
YES_NO = ("yes", "no")


def coin(name: str, *parents: str) -> Variable:
    """A fair coin that has parents of two states and does not care."""
    return Variable(name, YES_NO, parents, np.full([2] * (len(parents) + 1), 0.5))


# -- networks -------------------------------------------------------------------------------------


def test_order_arcs_and_lookup() -> None:
    network = Network((coin("c", "a", "b"), coin("a"), coin("b", "a")), "abc")
    assert network.order == (1, 2, 0)
    assert network.parents == ((1, 2), (), (1,))
    assert network.arcs == (("a", "c"), ("b", "c"), ("a", "b"))
    assert (network["b"].parents, len(network)) == (("a",), 3)
    assert [v.name for v in network] == ["c", "a", "b"]
    assert repr(network) == "<sqlbn network 'abc': 3 variables, 3 arcs>"


def test_tables_cannot_be_changed() -> None:
    mine = np.array([0.25, 0.75])
    variable = Variable("a", YES_NO, (), mine)
    mine[0] = 9
    assert variable.table.tolist() == [0.25, 0.75]
    with pytest.raises(ValueError, match="read-only"):
        variable.table[0] = 1
    with pytest.raises(AttributeError):
        variable.name = "b"  # type: ignore[misc]


def test_equality_is_that_of_all_numbers() -> None:
    assert Network((coin("a"),)) == Network((coin("a"),))
    assert hash(Network((coin("a"),))) == hash(Network((coin("a"),)))
    assert Network((coin("a"),)) != Network((Variable("a", YES_NO, (), [0.4, 0.6]),))
    assert coin("a") != "a"


def test_rounded_rows_are_divided_and_exact_ones_left_alone() -> None:
    thirds = Variable("a", ("x", "y", "z"), (), [0.333, 0.333, 0.333])
    assert thirds.table.tolist() == [1 / 3] * 3
    assert Variable("a", YES_NO, (), [0.1, 0.9]).table.tolist() == [0.1, 0.9]
    assert str(Variable("a", YES_NO, (), [-0.0, 1]).table[0]) == "0.0"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Network(()), "at least one variable"),
        (lambda: Network((coin("a"), coin("a"))), "two variables 'a'"),
        (lambda: Network((coin("a", "b"),)), "'a' has a parent 'b' that is not declared"),
        (
            lambda: Network((coin("r"), coin("a", "r", "c"), coin("b", "a"), coin("c", "b"))),
            "cycle: 'a' -> 'b' -> 'c' -> 'a'",
        ),
        (lambda: Network((coin("a", "a"),)), "cycle: 'a' -> 'a'"),
        (
            lambda: Network((Variable("a", "xyz", (), [0.5, 0.5, 0]), coin("b", "a"))),
            r"shape \(2, 2\): its parents 'a' have \(3,\) states",
        ),
        (lambda: Network((coin("a"),)).place("b"), "no variable 'b'; it has 'a'"),
        (lambda: Variable("", YES_NO, (), [0.5, 0.5]), "empty name"),
        (lambda: Variable("a", (), (), []), "no states"),
        (lambda: Variable("a", ("x", "x"), (), [0.5, 0.5]), "the state 'x' twice"),
        (lambda: coin("a", "b", "b"), "the parent 'b' twice"),
        (lambda: Variable("a\ud800", YES_NO, (), [0.5, 0.5]), "UTF-8"),
        (lambda: Variable("a", YES_NO, (), [0.5, 0.4]), "sums to 0.9, not 1"),
        (lambda: Variable("a", YES_NO, (), [1.5, -0.5]), "no probability"),
        (lambda: Variable("a", YES_NO, (), [float("nan"), 1]), "no probability"),
        (lambda: Variable("a", YES_NO, (), [1.0]), r"shape \(1,\)"),
    ],
)
def test_what_is_no_network(make: Any, message: str) -> None:
    with pytest.raises(NetworkError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


# -- BIF ------------------------------------------------------------------------------------------

SMALL = """// a comment, and a byte order mark before it is fine
network "small one" {
  property "author; nobody" ;
  property see http://example.org/a "quoted;" text;
}
VARIABLE rain { //2 values
  type discrete[2]{yes no};
  property position = (5, 6);
}
variable "wet grass" { type discrete [ 3 ] { "very wet", <5, Asy/Patch } ; }
/* probabilities in any order,
   and on several lines */
probability ( "wet grass" | rain, sky ) {
  default 0 0.25 7.5e-1;
  (yes, "") 1.0,0,-0;
  property nothing;
  (no, grey)
     0.333, 0.333, 0.333;
}
Probability(rain|sky){Table 0.1,0.2, 0.9 0.8;}
probability ( sky ) { table 1E+0, .0; }
variable sky { type discrete { "", grey }; }
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.bif"
    path.write_text("\ufeff" + SMALL, encoding="utf-8")
    return path


def test_everything_the_format_allows(small: Path) -> None:
    network = sqlbn.read_bif(small)
    assert network.name == "small one"
    assert network.names == ("rain", "wet grass", "sky")
    assert network["wet grass"].states == ("very wet", "<5", "Asy/Patch")
    assert network["sky"].states == ("", "grey")
    assert network["sky"].table.tolist() == [1, 0]
    # In a table the variable itself changes slowest.
    assert network["rain"].table.tolist() == [[0.1, 0.9], [0.2, 0.8]]
    assert network["wet grass"].table.tolist() == [
        [[1, 0, 0], [0, 0.25, 0.75]],
        [[0, 0.25, 0.75], [1 / 3, 1 / 3, 1 / 3]],
    ]


def test_written_and_read_again(small: Path, tmp_path: Path) -> None:
    network = sqlbn.read_bif(small)
    plain, packed = tmp_path / "again.bif", tmp_path / "again.bif.gz"
    sqlbn.write_bif(network, plain)
    sqlbn.write_bif(network, packed)
    assert sqlbn.read_bif(plain) == sqlbn.read_bif(packed) == network
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert 'variable "wet grass" {\n  type discrete [ 3 ]' in plain.read_text()
    assert "variable rain {" in plain.read_text()
    # The name does not decide whether a file is packed.
    packed.rename(tmp_path / "packed.bif")
    assert sqlbn.read_bif(tmp_path / "packed.bif") == network
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.bif", "packed.bif", "small.bif"]


@pytest.mark.parametrize("name", SIZES)
def test_networks_of_the_literature(shared: Path, tmp_path: Path, name: str) -> None:
    path = shared / "data" / "bif" / f"{name}.bif.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not in ../shared")
    network = sqlbn.read_bif(path)
    assert (len(network), len(network.arcs)) == SIZES[name]
    sqlbn.write_bif(network, tmp_path / "again.bif")
    assert sqlbn.read_bif(tmp_path / "again.bif") == network


names = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\/*{}()[],;| \n\r\tä'), max_size=6
) | st.sampled_from(["table", "property", "Default", "//", "/*", "5", "a b", '"', "\\", '\\"'])


@st.composite
def networks(draw: st.DrawFn) -> Network:
    chosen = draw(st.lists(names.filter(bool), min_size=1, max_size=5, unique=True))
    sizes: dict[str, int] = {}
    variables = []
    for name in chosen:
        states = draw(st.lists(names, min_size=1, max_size=3, unique=True))
        parents = draw(st.lists(st.sampled_from(list(sizes) or [""]), max_size=2, unique=True))
        parents = [p for p in parents if p]
        shape = [*(sizes[p] for p in parents), len(states)]
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        table = rng.exponential(size=shape) ** draw(st.sampled_from([1, 40]))
        variables.append(Variable(name, states, parents, table / table.sum(-1, keepdims=True)))
        sizes[name] = len(states)
    return Network(tuple(draw(st.permutations(variables))), draw(names))


@examples(200)
@given(network=networks())
def test_any_network_survives_the_file(
    network: Network, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.bif"
    sqlbn.write_bif(network, path)
    assert sqlbn.read_bif(path) == network


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        ("network", "netwerk", 2, "expected 'network', 'variable' or 'probability', found 'netw"),
        ("VARIABLE rain", "network rain", 6, "expected 'variable' or 'probability', found 'netw"),
        ("yes no};", "yes no}", 8, "expected ';' after the states of 'rain', found 'property'"),
        ("[2]", "[3]", 7, "expected 3 states of 'rain', found 2: 'yes', 'no'"),
        ("[2]", "[two]", 7, "expected the number of states, found 'two'"),
        ("{yes no}", "{yes yes}", 7, "the variable 'rain' has the state 'yes' twice"),
        ("{yes no}", "{}", 7, "expected 2 states of 'rain', found none"),
        ("discrete[2]", "continuous", 7, "expected 'discrete', the only type"),
        ("type discrete { ", "kind discrete { ", 22, "expected 'type', 'property' or '}'"),
        ("type discrete[2]{yes no};", "", 6, "the variable 'rain' has no type"),
        ("variable sky", "variable rain", 22, "the variable 'rain' is declared twice"),
        ('variable "wet grass"', 'variable ""', 10, "found empty quotes"),
        ("variable sky", "variable {", 22, "expected a variable's name, found '{'"),
        ("rain, sky", "rain, moon", 13, "of 'wet grass' has a parent 'moon' that is not declared"),
        ("rain, sky", "rain, rain", 13, "of 'wet grass' names 'rain' twice"),
        ('(yes, "")', "(yes)", 15, "expected 2 states of parents, found ('yes')"),
        ('(yes, "")', "(dry, grey)", 15, "expected a state of 'rain' ('yes', 'no'), found 'dry'"),
        ("(no, grey)", '(yes, "")', 17, "is given twice for ('yes', '')"),
        ("default 0 0.25 7.5e-1;", "", 13, "is not given for ('yes', 'grey')"),
        ("7.5e-1", "seven", 14, "expected a probability or ';', found 'seven'"),
        ("7.5e-1", '"0.75"', 14, "expected a probability or ';', found '0.75'"),
        ("7.5e-1", "7.5", 14, "expected a probability from 0 to 1, found '7.5'"),
        ("7.5e-1", "-0.1", 14, "expected a probability from 0 to 1, found '-0.1'"),
        ("7.5e-1", "nan", 14, "expected a probability from 0 to 1, found 'nan'"),
        ("7.5e-1", "0.7", 14, "expected numbers that sum to 1, found 0.95"),
        ("7.5e-1", "", 14, "expected 3 numbers, found 2"),
        ("  property nothing;", "default 1 0 0;", 16, "has two defaults"),
        ("0.9 0.8", "0.9 0.9", 20, "expected numbers that sum to 1, found 1.1"),
        ("0.9 0.8", "0.9", 20, "expected 4 numbers, found 3"),
        ("0.9 0.8;", "0.9 0.8; default 1 0;", 20, "has a table and more besides it"),
        ("table 1E+0, .0;", "(yes) 1, 0;", 21, "expected 'table', found ('yes')"),
        ("table 1E+0, .0;", "", 21, "has no numbers: expected 'table'"),
        ("table 1E+0, .0;", "row 1, 0;", 21, "expected 'table', 'default', '(' or '}'"),
        ("( sky )", "( rain )", 21, "the probabilities of 'rain' are given twice"),
        ("probability ( sky ) { table 1E+0, .0; }", "", 23, "expected the probabilities of 'sky'"),
        (
            "grey }; }",
            "grey };",
            23,
            "expected '}' at the end of the variable block, found the end",
        ),
        ('"", grey };', '"", "grey };', 22, "the quoted name that begins here does not end"),
        ("several lines */", "several lines", 11, "the comment that begins here does not end"),
    ],
)
def test_mistakes_name_file_and_line(
    small: Path, before: str, after: str, line: int, message: str
) -> None:
    assert SMALL.count(before) >= 1
    small.write_text(SMALL.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(NetworkError) as caught:
        sqlbn.read_bif(small)
    text = str(caught.value)
    assert text.startswith(f"'{small}', line {line}: ")
    assert message in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: expected a variable, found the end of the file"),
        (b"network x { }\n", "line 2: expected a variable, found the end of the file"),
        (b"network x {\n", "expected '}' at the end of the network block"),
        (b"network x {\n property a = b\n}", "expected ';' at the end of the property"),
        (b"network x {\n\n\xff }", "line 3: expected UTF-8 text"),
        (gzip.compress(SMALL.encode(), mtime=0)[:60], "damaged gzip"),
        (
            b"variable a { type discrete {x}; } probability(a|b){default 1;}"
            b"variable b { type discrete {x}; } probability(b|a){default 1;}",
            "x.bif': the network has a cycle: 'a' -> 'b' -> 'a'",
        ),
    ],
)
def test_files_that_are_none(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "x.bif"
    path.write_bytes(data)
    with pytest.raises(NetworkError) as caught:
        sqlbn.read_bif(path)
    assert message in str(caught.value)


@examples(300)
@given(
    at=st.integers(0, len(SMALL)),
    left_out=st.sampled_from([0, 1, 10]),
    put_in=st.sampled_from(["", "\n", '"', "{", "}", "(", ";", "/*", "//", "0", "-1", "x", "\x00"]),
)
def test_a_damaged_file_is_one_line_of_error(
    at: int, left_out: int, put_in: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.bif"
    path.write_text(SMALL[:at] + put_in + SMALL[at + left_out :], encoding="utf-8")
    try:
        sqlbn.read_bif(path)
    except NetworkError as error:
        assert str(error).startswith(f"'{path}'")
        assert "\n" not in str(error)


def test_a_table_that_no_memory_holds(tmp_path: Path) -> None:
    parents = [f"p{i}" for i in range(40)]
    text = "".join(f"variable {p} {{ type discrete {{a b}}; }}\n" for p in ["x", *parents])
    text += "".join(f"probability ({p}) {{ table 0.5 0.5; }}\n" for p in parents)
    path = tmp_path / "wide.bif"
    path.write_text(text + f"probability (x | {', '.join(parents)}) {{ default 0.5 0.5; }}")
    with pytest.raises(NetworkError, match=r"line 82: .* 2,199,023,255,552 numbers"):
        sqlbn.read_bif(path)


def test_paths_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match=r"cannot read .*none.bif': No such file"):
        sqlbn.read_bif(tmp_path / "none.bif")
    with pytest.raises(NetworkError, match=r"cannot write .*: No such file"):
        sqlbn.write_bif(Network((coin("a"),)), tmp_path / "none" / "a.bif")


# -- random networks ------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "edges"), [("nb", 19), ("tan", 37), ("ban", 50)])
def test_the_papers_models(kind: str, edges: int) -> None:
    network = random_network(RandomModel(kind), seed=4)
    assert network.names == ("class", *(f"x{i}" for i in range(1, 20)))
    assert len(network.arcs) == edges
    assert all("class" in v.parents for v in network.variables[1:])
    assert {len(v.states) for v in network} == {2}
    assert network == random_network(RandomModel(kind), seed=4)
    assert network != random_network(RandomModel(kind), seed=5)


def test_a_tree_is_one() -> None:
    for seed in range(20):
        network = random_network(RandomModel("tan", attributes=7), seed)
        roots = [v for v in network.variables[1:] if v.parents == ("class",)]
        assert len(roots) == 1
        assert all(len(v.parents) <= 2 for v in network)


@pytest.mark.parametrize(("attributes", "edges"), [(1, 1), (2, 3), (3, 6), (5, 13), (38, 100)])
def test_edges_grow_with_the_attributes(attributes: int, edges: int) -> None:
    assert len(random_network(RandomModel("ban", attributes), seed=0).arcs) == edges


def test_values_classes_and_all_edges() -> None:
    network = random_network(RandomModel("ban", 4, values=3, classes=5, edges=10), seed=0)
    assert len(network.arcs) == 10
    assert network["class"].states == ("c1", "c2", "c3", "c4", "c5")
    assert network["x4"].states == ("v1", "v2", "v3")
    assert len(random_network(RandomModel("ban", edges=190), seed=0).arcs) == 190


def test_rows_are_uniform_on_the_simplex() -> None:
    # A component of a uniform point of the simplex of v states has mean 1/v, and is less than t
    # with probability 1 - (1 - t)^(v - 1).
    network = random_network(RandomModel("nb", attributes=2000, values=4, classes=5), seed=1)
    first = np.concatenate([v.table[:, 0] for v in network.variables[1:]])
    assert abs(first.mean() - 0.25) < 0.01
    for t in (0.1, 0.3, 0.6):
        assert abs((first < t).mean() - (1 - (1 - t) ** 3)) < 0.025


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "tree"}, "random='tree': choose one of nb, tan, ban"),
        ({"kind": "nb", "attributes": 0}, "attributes=0: give at least 1"),
        ({"kind": "nb", "values": 1}, "values=1: give at least 2"),
        ({"kind": "nb", "classes": 1}, "classes=1: give at least 2"),
        ({"kind": "tan", "edges": 30}, "edges is for random='ban'; tan has a fixed number"),
        ({"kind": "ban", "edges": 18}, "edges=18: 19 attributes have from 19"),
        ({"kind": "ban", "edges": 191}, "to 190 edges"),
        ({"kind": "ban", "edges": 190, "values": 5}, "fit if no table may have more than"),
        ({"kind": "nb", "values": 2000, "classes": 2000}, "would have 4,000,000 probabilities"),
    ],
)
def test_impossible_models(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        random_network(RandomModel(**options), seed=0)
    assert message in str(caught.value)


def test_irrelevant_attributes_have_names_of_their_own() -> None:
    network = with_irrelevant(Network((coin("Noise2"), coin("noise"))), 3, 4)
    assert network.names == ("Noise2", "noise", "noise1", "noise3", "noise4")
    assert network["noise4"].table.tolist() == [0.25] * 4
