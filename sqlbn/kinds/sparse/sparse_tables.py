"""The tables of a model over sparse features, from its counts: what it is, and what predicts.

A row's score is that of a row without any feature, and for every cell what it adds to that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from sqlbn.engines.sql import render, select_sql
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.estimates import Array, Smoothing, log_prior
from sqlbn.kinds.sparse.sparse_counts import SparseCounts
from sqlbn.kinds.sparse.sparse_families import Changes, JointRows

if TYPE_CHECKING:
    import pyarrow as pa

# What every stored model has, and one of features leaves empty.
_EMPTY = (
    *("attributes", "categories", "cuts", "parents", "cmi", "counts", "families", "factors"),
    *("variables", "groups", "margins", "margin_families"),
)


def write_empty(workspace: Workspace) -> None:
    """The tables about columns, of which there are none."""
    for name in _EMPTY:
        workspace.create(name)


def write_features(workspace: Workspace, names: str, counts: SparseCounts, weights: Array) -> None:
    """The workspace's `features`, for the names in a table (place, feature)."""
    rank = np.empty(counts.d, np.int64)
    rank[counts.order] = np.arange(counts.d)
    session = workspace.session
    about = session.fresh_name("features")
    session.create_table(
        about,
        {
            "place": np.arange(counts.d, dtype=np.uint32),
            "n_values": counts.n_codes.astype(np.uint32),
            "n": counts.present.astype(np.int64),
            "mi": counts.mi,
            "rank": rank.astype(np.uint32),
            "selected": weights > 0,
            "weight": weights,
        },
    )
    workspace.create("features")
    values = workspace.table("feature_values")
    workspace.insert_from(
        "features", render("sparse/features", names=names, about=about, values=values)
    )
    session.drop_table(about)


def write_predicting(
    workspace: Workspace,
    counts: SparseCounts,
    smoothing: Smoothing,
    weights: Array,
    joint: Changes | None = None,
) -> None:
    """The tables of prediction: by how much a cell changes the score of a row without any.

    `joint` are the changes of features that depend on others.
    """
    n_classes = len(counts.class_counts)
    has_values = _is_filled(workspace, "feature_values")
    start, changes, unseen = _changes(counts, smoothing, weights, joint or Changes())
    workspace.create("predict_absent", classes=n_classes)
    workspace.insert("predict_absent", [start])
    used = np.flatnonzero(weights > 0)
    feature = np.repeat(np.arange(counts.d), counts.n_values + 1)
    code = np.arange(len(feature)) - counts.starts[feature]
    there = (code < counts.n_values[feature]) & (weights[feature] > 0)
    features, values = workspace.table("features"), workspace.table("feature_values")
    by_feature = unseen if has_values else changes[counts.starts]
    with _registered(workspace, {"place": used}, by_feature[used]) as view:
        sql = render("sparse/predict_features", features=features, changes=view)
        _fill(workspace, "predict_features", sql, n_classes)
    keys = {"place": feature[there], "code": code[there]}
    with _registered(workspace, keys, changes[there]) as view:
        sql = render("sparse/predict_values", values=values, changes=view)
        _fill(workspace, "predict_values", sql, n_classes)


def _changes(
    counts: SparseCounts, smoothing: Smoothing, weights: Array, joint: Changes
) -> tuple[list[float], Array, Array]:
    """The score of a row without any feature; what each value, and an unseen one, adds to it."""
    logs, unseen = counts.logs(smoothing)
    absent = logs[counts.absent]
    runs = counts.n_values + 1
    changes = (logs - np.repeat(absent, runs, axis=0)) * np.repeat(weights, runs)[:, None]
    of_unseen = (unseen - absent) * weights[:, None]
    alone = weights > 0
    for place, axis in joint.axes.items():
        alone[place] = False
        first, n = int(counts.starts[place]), int(counts.n_values[place])
        found = joint.of_one(place)
        changes[first : first + n] = found[:n]
        if len(axis.codes) > n:
            of_unseen[place] = found[n]
    prior = np.array(log_prior(counts.class_counts.tolist(), smoothing))
    terms = np.vstack([prior, absent[alone] * weights[alone][:, None], *joint.start])
    return [math.fsum(column) for column in terms.T.tolist()], changes, of_unseen


def write_together(workspace: Workspace, rows: JointRows) -> None:
    """The workspace's `predict_together`."""
    keys = {name: getattr(rows, name) for name in ("level", "prefix", "number", "place", "code")}
    with _registered(workspace, keys, rows.changes) as view:
        sql = select_sql(view, order="number")
        _fill(workspace, "predict_together", sql, rows.changes.shape[1])


def _is_filled(workspace: Workspace, name: str) -> bool:
    return bool(workspace.session.row(select_sql(workspace.table(name), "count(*)"))[0])


def _fill(workspace: Workspace, name: str, sql: str, n_classes: int) -> None:
    workspace.create(name, classes=n_classes)
    workspace.insert_from(name, sql)


def value_labels(workspace: Workspace, place: int, n_values: int) -> list[str]:
    """What the values of a feature are called: where cells have none, `present`."""
    rows = workspace.read(
        "feature_values", "value", "lower", "upper", order=("code",), where=f"place = {place}"
    )
    if not rows:
        return ["(present)"] * n_values
    return [
        value if value is not None else f"({low}, {high}{')' if high == math.inf else ']'}"
        for value, low, high in rows
    ]


def probability_table(
    counts: SparseCounts,
    place: int,
    labels: Sequence[str],
    name: str,
    classes: Sequence[str],
    smoothing: Smoothing,
) -> pa.Table:
    """The probabilities of a feature's values given the class, for people."""
    import pyarrow as pa

    logs, _ = counts.logs(smoothing)
    first, n_codes = int(counts.starts[place]), int(counts.n_codes[place])
    listed = [*labels, "(absent)"][:n_codes]
    column = name if name.lower() not in ("class", "n", "probability") else f"{name}_"
    rows = [(code, y) for code in range(n_codes) for y in range(len(classes))]
    return pa.table(
        {
            column: [listed[code] for code, _ in rows],
            "class": [classes[y] for _, y in rows],
            "n": [int(counts.cells[first + code, y]) for code, y in rows],
            "probability": [math.exp(logs[first + code, y]) for code, y in rows],
        }
    )


@contextmanager
def _registered(workspace: Workspace, keys: Mapping[str, Array], values: Array) -> Iterator[str]:
    """Keys, and a column `l_*` for every class, as a view."""
    import pyarrow as pa

    columns: dict[str, Any] = {name: key.astype(np.uint32) for name, key in keys.items()}
    columns |= {f"l_{j}": np.ascontiguousarray(values[:, j]) for j in range(values.shape[1])}
    view = workspace.session.register(pa.table(columns))
    try:
        yield view
    finally:
        workspace.session.unregister(view)
