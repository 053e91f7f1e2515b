"""Hostile rows, models of them, and plain-Python scorers of the documents that models become."""

from __future__ import annotations

import datetime as dt
import math
import random
import xml.etree.ElementTree as ElementTree
from decimal import Decimal
from typing import Any

import pyarrow as pa

TEXTS = ["it's", 'say "so"', "back\\slash", "two\nlines", "😀", "", "NULL", "%s -- ;", None]
CLASSES = ["yes, it's", "no 😀", 'may"be']
DAY = dt.date(2024, 2, 28)
NOON = dt.datetime(1999, 12, 31, 23, 59, 59, 999_999)
_LONG = ["many", "day", "code", "moment", "price"]
LEARNERS: dict[str, dict[str, Any]] = {
    "nb": {"learner": "nb"},
    "tan": {"learner": "tan", "missing": "ignore", "exclude": ["many"]},
    "kdb": {"learner": "kdb", "k": 2, "backoff": "parents", "exclude": ["many", "moment"]},
    "skdb": {"learner": "skdb", "kmax": 2},
    "mixed": {
        "learner": "kdb",
        "k": 3,
        "smoothing": "hierarchical",
        "weights": "levels",
        "exclude": ["many", "moment"],
    },
    "eskdb": {"learner": "eskdb", "kmax": 2, "members": 3, "exclude": _LONG},
    "eskdb-mean": {"learner": "eskdb", "kmax": 1, "members": 2, "loss": "log_loss"},
    "snb": {"learner": "snb"},
    "hgc": {"learner": "hgc"},
    "a1de": {"learner": "a1de-s", "min_count": 5, "exclude": _LONG},
    "a2de": {"learner": "a2de-w", "columns": ["order", "size", "half", "ripe"]},
    "fanc": {"learner": "fanc", "exclude": _LONG},
    "tc": {"learner": "tc", "columns": ['odd "name"', "size", "half", "price"]},
}


def rows(n: int, seed: int, new: bool = False) -> pa.Table:
    """Rows of every type; `new` ones have values that training never saw."""
    rng = random.Random(seed)
    listed: list[dict[str, Any]] = []
    for i in range(n):
        at = rng.randrange(len(CLASSES))
        odd = new and rng.random() < 0.2
        moment = NOON + dt.timedelta(microseconds=rng.randrange(10**12) * (at + 1))
        size = rng.choice([at + rng.gauss(0, 1), at + rng.gauss(0, 1), float("nan")])
        listed.append(
            {
                "id": i,
                'odd "name"': "never seen" if odd else rng.choice([*TEXTS, TEXTS[at], TEXTS[at]]),
                "order": None if odd else rng.choice([at, at, 3, 4, 5]),
                "code": 77 if odd else rng.choice([10, 20, 30]) + at,
                "size": rng.choice([size, None]) if odd else size,
                "half": rng.choice([0.5, 1.5, float("nan"), None, at / 2]),
                "price": Decimal(99) if odd else Decimal(rng.choice(["1.10", "2.20", "-3.00"])),
                "day": None if odd else DAY + dt.timedelta(days=rng.randrange(50) * (at + 1)),
                "moment": None if odd else moment,
                "ripe": rng.choice([True, False, None]),
                "many": f"v{rng.randrange(90) if not odd else 1000}",
                "select": rng.choice(CLASSES) if rng.random() < 0.3 else CLASSES[at],
            }
        )
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ('odd "name"', pa.string()),
            ("order", pa.int32()),
            ("code", pa.int64()),
            ("size", pa.float64()),
            ("half", pa.float64()),
            ("price", pa.decimal128(9, 2)),
            ("day", pa.date32()),
            ("moment", pa.timestamp("us")),
            ("ripe", pa.bool_()),
            ("many", pa.string()),
            ("select", pa.string()),
        ]
    )
    return pa.Table.from_pylist(listed, schema=schema)


def check_equal(found: dict[int, list[Any]], wanted: pa.Table, n_classes: int) -> None:
    """Predictions by id: label and probabilities, against those of `predict`."""
    names = wanted.column_names[-n_classes - 1 :]
    assert len(found) == wanted.num_rows
    for row in wanted.to_pylist():
        label, *probabilities = found[row["id"]]
        assert label == row[names[0]]
        for ours, theirs in zip(probabilities, [row[n] for n in names[1:]], strict=True):
            assert abs(float(ours) - theirs) <= 1e-9


# -- JSON ------------------------------------------------------------------------------------------


def axis(value: Any) -> float:
    """A quantity as the number that cuts are compared with."""
    if isinstance(value, dt.datetime):
        return (value - dt.datetime(1970, 1, 1)) / dt.timedelta(microseconds=1)
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days * 86_400_000_000.0
    return float(value)


def text(value: Any) -> str:
    """A category as DuckDB writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Document:
    """Scores rows by a JSON document alone."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document, self.scores = document, document["scores"]
        self.tables: dict[int, dict[int, dict[str, Any]]] = {}

    def probabilities(self, row: dict[str, Any]) -> list[float]:
        codes = {a["position"]: self.code(a, row[a["name"]]) for a in self.document["attributes"]}
        scores = getattr(self, self.document["kind"])(codes)
        top = max(scores)
        powers = [math.exp(score - top) for score in scores]
        return [power / sum(powers) for power in powers]

    def predict(self, row: dict[str, Any]) -> list[Any]:
        """Label, then probabilities."""
        found = self.probabilities(row)
        best = next(j for j, p in enumerate(found) if p >= max(found) * (1 - 2e-10))
        return [self.document["classes"][best]["value"], *found]

    def code(self, attribute: dict[str, Any], value: Any) -> int:
        if value is None or value != value:
            return attribute["missing"]
        if attribute["kind"] == "categorical":
            return attribute["categories"].get(text(value), attribute["unseen"])
        if attribute["cuts"] is None:
            return attribute["unseen"]
        code = sum(cut < axis(value) for cut in attribute["cuts"])
        return attribute["unseen"] if code in attribute["empty"] else code

    def at(self, table: dict[str, Any], key: int) -> dict[str, Any] | None:
        if id(table) not in self.tables:
            named = (dict(zip(table["columns"], row, strict=True)) for row in table["rows"])
            self.tables[id(table)] = {row["key"]: row for row in named}
        return self.tables[id(table)].get(key)

    def logs(self, row: dict[str, Any], name: str = "l") -> list[float]:
        return [row[f"{name}_{j}"] for j in range(len(self.document["classes"]))]

    @staticmethod
    def key(codes: dict[int, int], attributes: list[int], radices: Any) -> int:
        key = 0
        for v in attributes:
            key = key * radices[v] + codes[v]
        return key

    def product(self, codes: dict[int, int]) -> list[float]:
        return self.chains(codes, self.scores["chains"])

    def ensemble(self, codes: dict[int, int]) -> list[float]:
        found = [self.chains(codes, member["chains"]) for member in self.scores["members"]]
        shares = []
        for scores in found:
            powers = [math.exp(score - max(scores)) for score in scores]
            shares.append([power / sum(powers) for power in powers])
        return [math.log(max(math.fsum(c), 1e-300)) for c in zip(*shares, strict=True)]

    def chains(self, codes: dict[int, int], chains: Any) -> list[float]:
        scores = [c["log_prior"] for c in self.document["classes"]]
        for chain in chains:
            for table in chain:
                silent = table.get("silent")
                if silent and codes[silent["attribute"]] in silent["codes"]:
                    continue
                radices = dict(zip(table["attributes"], table["radices"], strict=True))
                row = self.at(table["table"], self.key(codes, table["attributes"], radices))
                if row is not None:
                    scores = [a + b for a, b in zip(scores, self.logs(row), strict=True)]
                    if not table.get("adds"):
                        break
        return scores

    def average(self, codes: dict[int, int]) -> list[float]:
        s, radices = self.scores, self.scores["radices"]
        after = dict(codes)
        for implied in s["implied"]:
            row = self.at(implied["table"], codes[implied["attribute"]]) or {}
            for name, code in row.items():
                if name != "key" and codes[int(name[2:])] == code:
                    after[int(name[2:])] = radices[int(name[2:])] - 1
        terms: list[tuple[int, list[float]]] = []
        for turn in s["turns"]:
            key = turn["offset"] + self.key(after, turn["attributes"], radices)
            start = self.at(s["super"], key)
            if start is not None:
                terms.append((start["level"], self.turn(start, after)))
        top = max(level for level, _ in terms)
        kept = [scores for level, scores in terms if level == top]
        highest = max(max(scores) for scores in kept)
        return [
            highest + math.log(max(math.fsum(math.exp(t[j] - highest) for t in kept), 1e-300))
            for j in range(len(self.document["classes"]))
        ]

    def turn(self, start: dict[str, Any], codes: dict[int, int]) -> list[float]:
        radices = self.scores["radices"]
        total = self.logs(start)
        for table in self.scores["tables"]:
            size = math.prod(radices[v] for v in table["attributes"])
            key = start["number"] * size + self.key(codes, table["attributes"], radices)
            v = table["attributes"][0]
            if table["sparse"] and codes[v] >= self.scores["counting"][v]:
                continue
            row = self.at(table["table"], key)
            if row is not None:
                more = self.logs(row)
            else:
                more = [b + math.log(table["share"]) for b in self.logs(start, "b")]
            total = [a + b for a, b in zip(total, more, strict=True)]
        return total

    def collection(self, codes: dict[int, int]) -> list[float]:
        s, classes = self.scores, range(len(self.document["classes"]))
        sums: dict[int, list[float]] = {}
        for turn in s["turns"]:
            own = 0 if turn["attribute"] is None else codes[turn["attribute"]]
            start = self.at(s["start"], turn["offset"] + own)
            assert start is not None
            total = self.logs(start)
            for table in s["tables"]:
                blocks = table["blocks"]
                block = blocks[start["repeat"] if len(blocks) > 1 else 0]
                key = start["number"] * table["size"] + self.key(codes, block, s["slots"])
                row = self.at(table["table"], key)
                assert row is not None
                total = [a + b for a, b in zip(total, self.logs(row), strict=True)]
            if "sparse" in turn:
                more = self.sparse(turn["sparse"], start, codes)
                total = [a + b for a, b in zip(total, more, strict=True)]
            before = sums.setdefault(start["child"], [0.0 for _ in classes])
            sums[start["child"]] = [a + b for a, b in zip(before, total, strict=True)]
        found = [c["log_prior"] for c in self.document["classes"]]
        for total in sums.values():
            found = [a + (math.log(t) if t > 0 else 0.0) for a, t in zip(found, total, strict=True)]
        return found

    def sparse(
        self, term: dict[str, Any], start: dict[str, Any], codes: dict[int, int]
    ) -> list[float]:
        classes = self.document["classes"]
        if any(codes[int(v)] in silent for v, silent in term["silent"].items()):
            return [0.0 for _ in classes]
        slots = self.scores["slots"]
        cell = term["cells"] + self.key(codes, [term["child"], *term["parents"]], slots)
        parents = term["parent_keys"] + self.key(codes, term["parents"], slots)
        row = self.at(self.scores["cells"], cell) or self.at(self.scores["parents"], parents)
        return self.logs(row) if row is not None else [start["unseen"] for _ in classes]


# -- PMML ------------------------------------------------------------------------------------------


class Pmml:
    """Scores rows by the rules of PMML: derived fields, then naive Bayes or a network."""

    def __init__(self, text: str) -> None:
        root = ElementTree.fromstring(text)
        for element in root.iter():
            element.tag = element.tag.split("}")[-1]
        self.types = {f.get("name"): f.get("dataType") for f in root.iter("DataField")}
        self.derived = {f.get("name"): f[0] for f in root.iter("DerivedField")}
        self.naive = root.find("NaiveBayesModel")
        self.network = root.find("BayesianNetworkModel")
        self.target = next(
            f.get("name") for f in root.iter("MiningField") if f.get("usageType") == "target"
        )
        self.classes = [v.get("value") for v in root.iter("Value")]

    def value(self, element: Any, row: dict[str, Any]) -> str:
        """A derived field."""
        field = element.get("field") or element.find("FieldColumnPair").get("field")
        value = row[field]
        if value is None or value != value:
            return element.get("mapMissingTo")
        if element.tag == "MapValues":
            for line in element.iter("row"):
                if line.find("value").text in (text(value), None if value == "" else text(value)):
                    return line.find("code").text
            return element.get("defaultValue")
        number = axis(value)
        unit = {"dateDaysSince[1970]": 86_400_000_000, "dateTimeSecondsSince[1970]": 1e6}
        number /= unit.get(self.types[field], 1)
        for bin_ in element.iter("DiscretizeBin"):
            low = float(bin_[0].get("leftMargin", "-inf"))
            high = float(bin_[0].get("rightMargin", "inf"))
            if (low < number or low == -math.inf) and number <= high:
                return bin_.get("binValue")
        return element.get("defaultValue")

    def predict(self, row: dict[str, Any]) -> list[Any]:
        """Label, then probabilities."""
        states = {name: self.value(element, row) for name, element in self.derived.items()}
        logs = self.naive_logs(states) if self.naive is not None else self.network_logs(states)
        powers = [math.exp(score - max(logs)) for score in logs]
        best = next(j for j, p in enumerate(powers) if p >= 1 - 1e-10)
        return [self.classes[best], *(power / sum(powers) for power in powers)]

    @staticmethod
    def counts(element: Any) -> dict[str, float]:
        """By class."""
        return {c.get("value"): float(c.get("count")) for c in element.iter("TargetValueCount")}

    def naive_logs(self, states: dict[str, str]) -> list[float]:
        """ln of count[T] times, for every input, count[value and T] / count[all values and T]."""
        output = self.counts(self.naive.find("BayesOutput"))
        found = [math.log(output[c]) for c in self.classes]
        for given in self.naive.iter("BayesInput"):
            pairs = {p.get("value"): self.counts(p) for p in given.iter("PairCounts")}
            for j, name in enumerate(self.classes):
                total = math.fsum(counts[name] for counts in pairs.values())
                found[j] += math.log(pairs[states[given.get("fieldName")]][name] / total)
        return found

    def network_logs(self, states: dict[str, str]) -> list[float]:
        """ln of the product of all nodes' probabilities, for every class."""
        found = []
        for name in self.classes:
            known, total = {**states, self.target: name}, 0.0
            for node in self.network.iter("DiscreteNode"):
                rows = node.findall("DiscreteConditionalProbability") or [node]
                row = next(
                    r
                    for r in rows
                    if all(known[p.get("parent")] == p.get("value") for p in r.iter("ParentValue"))
                )
                values = {
                    v.get("value"): float(v.get("probability"))
                    for v in row.iter("ValueProbability")
                }
                assert math.isclose(sum(values.values()), 1, abs_tol=1e-9)
                total += math.log(values[known[node.get("name")]])
            found.append(total)
        return found
