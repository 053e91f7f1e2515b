"""A model as PMML 4.4: naive Bayes where attributes have no parents, else a Bayesian network.

Every attribute becomes a derived field that holds its code, also for missing values and for values
never seen. PMML wants the probabilities of an attribute's states to sum to the same for every class
and every combination of parents. Ours do not, for unseen values come on top (the same for every
class where they are neutral): all are scaled, which no posterior notices, and a state that never
occurs has the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import numpy.typing as npt

from sqlbn import __version__
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.value_types import type_group
from sqlbn.engines.workspace import Workspace
from sqlbn.errors import ExportError, opt
from sqlbn.exporting.script import listed_categories
from sqlbn.networks.stored_networks import family_logs
from sqlbn.store.spec import ModelSpec

Array = npt.NDArray[Any]

# The state that never occurs.
REST = "rest"
# Characters that XML 1.0 cannot hold.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DAY = 86_400_000_000


def pmml_pieces(workspace: Workspace, spec: ModelSpec) -> Iterator[str]:
    """The PMML text, in pieces."""
    spec.require_class()
    if spec.scoring.mixture:
        raise ExportError(
            f"PMML has no model that is {spec.scoring.mixture}, as {spec.meta['learner']} is; use "
            f"{opt('format', 'sql')} or "
            "json, or fit nb, tan or kdb"
        )
    return _Writer(workspace, spec).pieces()


def _element(tag: str, content: str = "", /, **attributes: object) -> str:
    listed = "".join(f" {key}={_quoted(str(value))}" for key, value in attributes.items())
    return f"<{tag}{listed}>{content}</{tag}>" if content else f"<{tag}{listed}/>"


def _quoted(value: str) -> str:
    return quoteattr(_checked(value), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _checked(text: str) -> str:
    if _NO_XML.search(text):
        raise ExportError(
            f"{text!r} holds a character that XML cannot; use {opt('format', 'json')}"
        )
    return text


class _Writer:
    """Writes one model."""

    def __init__(self, workspace: Workspace, spec: ModelSpec) -> None:
        self._workspace, self._spec = workspace, spec
        self._used = spec.scorer(None).used
        self._books = spec.scored_books
        names = {book.name for book in spec.books} | {spec.target.name}
        self._fields = {v: _free(f"code of {self._books[v].name}", names) for v in self._used}
        self._weights = self._read_weights()

    def _read_weights(self) -> dict[int, float]:
        columns = {
            name for name, _ in self._workspace.session.columns(self._workspace.table("attributes"))
        }
        if "weight" not in columns:  # of early models, which count in full
            return {}
        return dict(
            self._workspace.read("attributes", "position", "weight", where="weight IS NOT NULL")
        )

    def pieces(self) -> Iterator[str]:
        """The whole document."""
        spec = self._spec
        yield '<?xml version="1.0" encoding="UTF-8"?>\n'
        yield '<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4">\n'
        yield _element("Header", _element("Application", name="sqlbn", version=__version__)) + "\n"
        yield from self._dictionary()
        naive = not any(spec.parents[v] for v in self._used)
        kind = "NaiveBayesModel" if naive else "BayesianNetworkModel"
        threshold = ' threshold="0"' if naive else ""
        yield f'<{kind} functionName="classification"{threshold}>\n'
        yield from self._mining_schema()
        yield "<LocalTransformations>\n"
        for v in self._used:
            yield self._derived(v) + "\n"
        yield "</LocalTransformations>\n"
        yield from self._inputs() if naive else self._nodes()
        yield f"</{kind}>\n</PMML>\n"

    # -- fields --------------------------------------------------------------------------------

    def _dictionary(self) -> Iterator[str]:
        yield f'<DataDictionary numberOfFields="{len(self._used) + 1}">\n'
        values = "".join(_element("Value", value=name) for name in self._spec.class_names)
        yield self._field(self._spec.target, values) + "\n"
        for v in self._used:
            yield self._field(self._books[v]) + "\n"
        yield "</DataDictionary>\n"

    @staticmethod
    def _field(book: Codebook, values: str = "") -> str:
        optype = "continuous" if book.kind == "numeric" else "categorical"
        return _element(
            "DataField", values, name=book.name, optype=optype, dataType=_data_type(book)
        )

    def _mining_schema(self) -> Iterator[str]:
        yield "<MiningSchema>\n"
        yield _element("MiningField", name=self._spec.target.name, usageType="target") + "\n"
        for v in self._used:
            name = self._books[v].name
            yield _element("MiningField", name=name, invalidValueTreatment="asIs") + "\n"
        yield "</MiningSchema>\n"

    def _derived(self, v: int) -> str:
        """The field of an attribute's code."""
        book = self._books[v]
        absent = book.missing if book.missing is not None else book.unseen
        common = {"mapMissingTo": absent, "defaultValue": book.unseen, "dataType": "string"}
        if book.kind == "numeric":
            content = _element("Discretize", _bins(book), field=book.name, **common)
        else:
            rows = listed_categories(self._workspace, book.name)
            listed = "".join(
                f"<row><value>{escape(_checked(value))}</value><code>{code}</code></row>"
                for value, code in rows
            )
            pair = _element("FieldColumnPair", field=book.name, column="value")
            table = f"<InlineTable>{listed}</InlineTable>"
            content = _element("MapValues", pair + table, outputColumn="code", **common)
        return _element(
            "DerivedField",
            content,
            name=self._fields[v],
            optype="categorical",
            dataType="string",
        )

    # -- probabilities -------------------------------------------------------------------------

    def _table(self, v: int) -> Array:
        """P(value | parents, class), scaled, with a last value that has the rest."""
        logs = family_logs(self._workspace, self._spec, v)
        if v not in self._spec.level_weights:  # whose weights are in the logarithms
            logs = logs * self._weights.get(v, 1.0)
        found = np.exp(logs)
        found /= found.sum(axis=0).max()
        rest = np.maximum(1.0 - found.sum(axis=0, keepdims=True), 0.0)
        table: Array = np.concatenate([found, rest])
        return table

    @staticmethod
    def _states(table: Array) -> list[str]:
        return [*map(str, range(len(table) - 1)), REST]

    def _inputs(self) -> Iterator[str]:
        yield "<BayesInputs>\n"
        for v in self._used:
            table = self._table(v)
            pairs = "".join(
                _element("PairCounts", self._counts(row), value=state)
                for state, row in zip(self._states(table), table, strict=True)
            )
            yield _element("BayesInput", pairs, fieldName=self._fields[v]) + "\n"
        yield "</BayesInputs>\n"
        counts = self._counts(np.exp(self._spec.log_prior))
        yield _element("BayesOutput", counts, fieldName=self._spec.target.name) + "\n"

    def _counts(self, row: Sequence[float] | Array) -> str:
        listed = "".join(
            _element("TargetValueCount", value=name, count=repr(float(count)))
            for name, count in zip(self._spec.class_names, row, strict=True)
        )
        return _element("TargetValueCounts", listed)

    def _nodes(self) -> Iterator[str]:
        yield "<BayesianNetworkNodes>\n"
        target = self._spec.target.name
        prior = _probabilities(self._spec.class_names, np.exp(self._spec.log_prior))
        yield _element("DiscreteNode", prior, name=target) + "\n"
        for v in self._used:
            yield f"<DiscreteNode name={_quoted(self._fields[v])}>\n"
            table = self._table(v)
            states, above = self._states(table), self._spec.parents[v]
            for codes in product(*map(range, table.shape[1:])):
                parents = [(self._fields[p], str(c)) for p, c in zip(above, codes, strict=False)]
                parents.append((target, self._spec.class_names[codes[-1]]))
                given = "".join(_element("ParentValue", parent=p, value=s) for p, s in parents)
                values = _probabilities(states, np.moveaxis(table, 0, -1)[codes])
                yield _element("DiscreteConditionalProbability", given + values) + "\n"
            yield "</DiscreteNode>\n"
        yield "</BayesianNetworkNodes>\n"


def _probabilities(states: Sequence[str], row: Array) -> str:
    return "".join(
        _element("ValueProbability", value=state, probability=repr(float(p)))
        for state, p in zip(states, row, strict=True)
    )


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _data_type(book: Codebook) -> str:
    group = type_group(book.sql_type)
    if group == "time" and book.kind == "numeric":
        if book.sql_type.upper() == "DATE":
            return "dateDaysSince[1970]"
        return "timeSeconds" if book.sql_type.upper() == "TIME" else "dateTimeSecondsSince[1970]"
    if group in ("float", "decimal"):
        return "double"
    return group if group in ("integer", "boolean") else "string"


def _bins(book: Codebook) -> str:
    """The intervals of a quantity; none where training had no value."""
    if book.missing == 0:
        return ""
    margins = [_margin(book, cut) for cut in book.cuts]
    found = []
    for place, code in enumerate(book.interval_codes):
        ends = {}
        if place:
            ends["leftMargin"] = margins[place - 1]
        if place < len(margins):
            ends["rightMargin"] = margins[place]
        interval = _element("Interval", closure="openClosed", **ends)
        found.append(_element("DiscretizeBin", interval, binValue=code))
    return "".join(found)


def _margin(book: Codebook, cut: float) -> str:
    if type_group(book.sql_type) != "time":
        return repr(cut)
    return str(int(cut // _DAY)) if book.sql_type.upper() == "DATE" else repr(cut / 1e6)
