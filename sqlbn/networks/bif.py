"""BIF files: a network as text, read and written, plain or gzipped."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sqlbn.engines.limits import Limits
from sqlbn.engines.output_files import replacing
from sqlbn.errors import NetworkError
from sqlbn.networks.bif_tokens import Tokens, written
from sqlbn.networks.network import (
    ROUNDING,
    UNNAMED,
    Network,
    Variable,
    repeated,
)


def read_bif(path: str | Path) -> Network:
    """The network in a BIF file; whether it is gzipped is seen from its first bytes.

    Properties are left out. Rows of probabilities that sum to 1 but for rounding are divided by
    their sum.
    """
    text = _text(Path(path))
    name, variables = _Reader(Tokens(text, repr(str(path)))).read()
    try:
        return Network(variables, name)
    except NetworkError as error:  # of the whole, such as a cycle: no line is to blame
        raise NetworkError(f"{str(path)!r}: {error}") from error


def _bytes(path: Path) -> bytes:
    """What a file holds, unpacked; a device or a bomb would never end."""
    if not path.is_file() and path.exists() and not path.is_dir():
        raise NetworkError(f"{str(path)!r} is not a file")
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        unpacked = gzip.GzipFile(fileobj=file) if packed else file
        data = unpacked.read(Limits.bif_bytes + 1)
    if len(data) > Limits.bif_bytes:
        raise NetworkError(
            f"{str(path)!r} has more than {Limits.bif_bytes:,} bytes: no network has"
        )
    return data


def _text(path: Path) -> str:
    try:
        data = _bytes(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise NetworkError(f"{str(path)!r} is a damaged gzip file; fetch it again") from error
    except OSError as error:
        raise NetworkError(f"cannot read {str(path)!r}: {error.strerror}") from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NetworkError(f"{str(path)!r}, line {line}: expected UTF-8 text") from error


@dataclass
class _Row:
    """`table numbers;`, `default numbers;` or, with the states of all parents, `(…) numbers;`."""

    kind: str
    states: list[str]
    numbers: list[float]
    line: int


@dataclass
class _Block:
    """`probability ( child | parents ) { rows }`."""

    child: str
    parents: list[str]
    line: int
    rows: list[_Row] = field(default_factory=list)


class _Reader:
    """First all blocks are read, then put together: they may come in any order."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._name: str | None = None
        self._states: dict[str, list[str]] = {}
        self._blocks: dict[str, _Block] = {}

    def read(self) -> tuple[str, tuple[Variable, ...]]:
        """To the end: the network's name and its variables."""
        tokens = self._tokens
        while not tokens.next.is_sign(""):
            if tokens.next.is_word("network") and self._name is None:
                tokens.take()
                self._network_block()
            elif tokens.next.is_word("variable"):
                tokens.take()
                self._variable_block()
            elif tokens.next.is_word("probability"):
                tokens.take()
                self._probability_block()
            else:
                first = "" if self._name is not None else "'network', "
                raise tokens.expected(f"{first}'variable' or 'probability'")
        if not self._states:
            raise tokens.expected("a variable")
        variables = tuple(self._variable(name) for name in self._states)
        return UNNAMED if self._name is None else self._name, variables

    # -- blocks -------------------------------------------------------------------------------

    def _network_block(self) -> None:
        self._name = self._tokens.take().text if self._tokens.next.is_name else UNNAMED
        self._tokens.sign("{", "after the network's name")
        if self._in_block("network"):
            raise self._tokens.expected("'property' or '}'")

    def _in_block(self, kind: str) -> bool:
        """Whether a block has more to say, its properties apart; its closing brace is taken."""
        while self._tokens.next.is_word("property"):
            self._tokens.take()
            self._tokens.skip_property()
        if self._tokens.next.is_sign(""):
            raise self._tokens.expected(f"'}}' at the end of the {kind} block")
        if self._tokens.next.is_sign("}"):
            self._tokens.take()
            return False
        return True

    def _variable_block(self) -> None:
        tokens = self._tokens
        line = tokens.next.line
        name = tokens.name("a variable's name")
        if not name:
            raise tokens.error("expected a variable's name, found empty quotes", line)
        if name in self._states:
            raise tokens.error(f"the variable {name!r} is declared twice", line)
        tokens.sign("{", f"after the variable {name!r}")
        states: list[str] | None = None
        while self._in_block("variable"):
            if states is not None or not tokens.next.is_word("type"):
                raise tokens.expected("'}'" if states else "'type', 'property' or '}'")
            tokens.take()
            states = self._type(name)
        if states is None:
            raise tokens.error(f"the variable {name!r} has no type", line)
        self._states[name] = states

    def _type(self, name: str) -> list[str]:
        """`discrete [ 2 ] { yes, no };`, with or without the number."""
        tokens = self._tokens
        if not tokens.next.is_word("discrete"):
            raise tokens.expected("'discrete', the only type there is here")
        line = tokens.take().line
        number = None
        if tokens.next.is_sign("["):
            tokens.take()
            if not tokens.next.text.isdecimal():
                raise tokens.expected("the number of states")
            number = int(tokens.take().text)
            tokens.sign("]", "after the number of states")
        tokens.sign("{", "before the states")
        states = self._names("}")
        tokens.sign(";", f"after the states of {name!r}")
        if not states or number not in (None, len(states)):
            wanted = "states" if number is None else f"{number} states"
            found = f"{len(states)}: {_shown(states)}" if states else "none"
            raise tokens.error(f"expected {wanted} of {name!r}, found {found}", line)
        twice = repeated(states)
        if twice is not None:
            raise tokens.error(f"the variable {name!r} has the state {twice!r} twice", line)
        return states

    def _names(self, end: str) -> list[str]:
        names: list[str] = []
        while not self._tokens.next.is_sign(end):
            names.append(self._tokens.name(f"a name or {end!r}"))
        self._tokens.take()
        return names

    def _probability_block(self) -> None:
        tokens = self._tokens
        line = tokens.next.line
        tokens.sign("(", "after 'probability'")
        child = tokens.name("a variable's name")
        block = _Block(child, self._names(")"), line)
        if child in self._blocks:
            raise tokens.error(f"the probabilities of {child!r} are given twice", line)
        self._blocks[child] = block
        tokens.sign("{", f"after the variables of the probabilities of {child!r}")
        while self._in_block("probability"):
            block.rows.append(self._row())

    def _row(self) -> _Row:
        tokens = self._tokens
        line = tokens.next.line
        kind, states = "states", []
        if tokens.next.is_word("table", "default"):
            kind = tokens.take().text.lower()
        elif tokens.next.is_sign("("):
            tokens.take()
            states = self._names(")")
        else:
            raise tokens.expected("'table', 'default', '(' or '}'")
        numbers: list[float] = []
        while not tokens.next.is_sign(";"):
            numbers.append(self._number())
        tokens.take()
        return _Row(kind, states, numbers, line)

    def _number(self) -> float:
        token = self._tokens.next
        try:
            if token.kind != "word" or "_" in token.text:
                raise ValueError
            number = float(token.text)
        except ValueError:
            raise self._tokens.expected("a probability or ';'") from None
        if not 0 <= number <= 1 + ROUNDING:
            raise self._tokens.expected("a probability from 0 to 1")
        self._tokens.take()
        return number

    # -- tables -------------------------------------------------------------------------------

    def _variable(self, name: str) -> Variable:
        if name not in self._blocks:
            raise self._tokens.expected(f"the probabilities of {name!r}")
        block = self._blocks[name]
        for parent in block.parents:
            if parent not in self._states:
                raise self._error(block, f"has a parent {parent!r} that is not declared")
            if parent == name or block.parents.count(parent) > 1:
                raise self._error(block, f"names {parent!r} twice")
        return Variable(name, self._states[name], block.parents, self._table(block))

    def _error(self, block: _Block, message: str, row: _Row | None = None) -> NetworkError:
        line = block.line if row is None else row.line
        return self._tokens.error(f"the probability of {block.child!r} {message}", line)

    def _table(self, block: _Block) -> NDArray[np.float64]:
        shape = [len(self._states[v]) for v in (*block.parents, block.child)]
        if prod(shape) > Limits.network_cells:
            raise self._error(block, f"would have {prod(shape):,} numbers: that is too many")
        for row in block.rows[1:]:
            if "table" in (row.kind, block.rows[0].kind):
                raise self._error(block, "has a table and more besides it", row)
        if block.rows and block.rows[0].kind == "table":
            return self._whole_table(block, block.rows[0], shape)
        return self._table_of_rows(block, shape)

    def _whole_table(self, block: _Block, row: _Row, shape: list[int]) -> NDArray[np.float64]:
        """In a table the variable itself changes slowest, its last parent fastest."""
        self._check_length(block, row, prod(shape))
        table = np.reshape(row.numbers, [shape[-1], -1]).T
        sums = table.sum(axis=1)
        self._check_sum(block, row, float(sums[np.abs(sums - 1).argmax()]))
        return table.reshape(shape)

    def _table_of_rows(self, block: _Block, shape: list[int]) -> NDArray[np.float64]:
        known = [{s: i for i, s in enumerate(self._states[p])} for p in block.parents]
        given: dict[tuple[int, ...], list[float]] = {}
        default: list[float] | None = None
        for row in block.rows:
            self._check_length(block, row, shape[-1])
            self._check_sum(block, row, sum(row.numbers))
            if row.kind == "default":
                if default is not None:
                    raise self._error(block, "has two defaults", row)
                default = row.numbers
                continue
            place = self._place(block, row, known)
            if place in given:
                raise self._error(block, f"is given twice for ({_shown(row.states)})", row)
            given[place] = row.numbers
        rows: list[list[float]] = []
        for place in product(*map(range, shape[:-1])):
            numbers = given.get(place, default)
            if numbers is None:
                raise self._not_given(block, place)
            rows.append(numbers)
        return np.reshape(rows, shape)

    def _not_given(self, block: _Block, place: tuple[int, ...]) -> NetworkError:
        if not block.parents:
            return self._error(block, "has no numbers: expected 'table'")
        names = [self._states[p][i] for p, i in zip(block.parents, place, strict=True)]
        return self._error(block, f"is not given for ({_shown(names)})")

    def _place(self, block: _Block, row: _Row, known: list[dict[str, int]]) -> tuple[int, ...]:
        if len(row.states) != len(known):
            number = f"{len(known)} states of parents" if known else "'table'"
            raise self._error(block, f"expected {number}, found ({_shown(row.states)})", row)
        for parent, states, state in zip(block.parents, known, row.states, strict=True):
            if state not in states:
                raise self._error(
                    block,
                    f"expected a state of {parent!r} ({_shown(states)}), found {state!r}",
                    row,
                )
        return tuple(states[state] for states, state in zip(known, row.states, strict=True))

    def _check_length(self, block: _Block, row: _Row, wanted: int) -> None:
        if len(row.numbers) != wanted:
            raise self._error(block, f"expected {wanted} numbers, found {len(row.numbers)}", row)

    def _check_sum(self, block: _Block, row: _Row, total: float) -> None:
        if abs(total - 1) > ROUNDING:
            raise self._error(block, f"expected numbers that sum to 1, found {total:.6g}", row)


def _shown(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def write_bif(network: Network, path: str | Path) -> None:
    """Write a network, gzipped if the name ends in .gz; `read_bif` gives exactly it back."""
    path = Path(path)
    data = "".join(bif_lines(network)).encode()
    if path.suffix.lower() == ".gz":
        data = gzip.compress(data, mtime=0)
    try:
        with replacing(path) as part:
            part.write_bytes(data)
    except OSError as error:
        raise NetworkError(f"cannot write {str(path)!r}: {error.strerror}") from error


def bif_lines(network: Network) -> Iterator[str]:
    """The text of a network as BIF."""
    yield f"network {written(network.name)} {{\n}}\n"
    for variable in network:
        states = ", ".join(map(written, variable.states))
        yield f"variable {written(variable.name)} {{\n"
        yield f"  type discrete [ {len(variable.states)} ] {{ {states} }};\n}}\n"
    for variable in network:
        yield from _probability_lines(network, variable)


def _probability_lines(network: Network, variable: Variable) -> Iterator[str]:
    if not variable.parents:
        yield f"probability ( {written(variable.name)} ) {{\n"
        yield f"  table {_numbers(variable.table)};\n}}\n"
        return
    parents = ", ".join(map(written, variable.parents))
    yield f"probability ( {written(variable.name)} | {parents} ) {{\n"
    states = [[written(s) for s in network[p].states] for p in variable.parents]
    rows = variable.table.reshape(-1, len(variable.states))
    for names, row in zip(product(*states), rows, strict=True):
        yield f"  ({', '.join(names)}) {_numbers(row)};\n"
    yield "}\n"


def _numbers(row: NDArray[np.float64]) -> str:
    # repr is the shortest text that reads back as the same number.
    return ", ".join(map(repr, row.tolist()))
