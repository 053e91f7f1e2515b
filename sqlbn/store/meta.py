"""The table `meta` of a model: what a fit writes into it, and how it is read and checked."""

from __future__ import annotations

import json
import math
import platform
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import duckdb

from sqlbn import __version__
from sqlbn.data.no_target import NO_CLASS
from sqlbn.encoding.preparing import Prepared
from sqlbn.engines.progress import Progress
from sqlbn.engines.value_types import plain_type
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.estimates import Backoff, Estimate, Missing, Rule, Unseen
from sqlbn.kinds.kind import Weighting
from sqlbn.learners.fit_options import FitOptions
from sqlbn.options.catalogue import WEIGHT_KINDS
from sqlbn.schema import META, Value
from sqlbn.store.damage import check_columns, refuse

# Raised when the meaning of a stored table changes; a newer file is refused, an older one migrated.
# 2: estimates and missing values as options; margins and history.
# 3: categories may share a code, as groups.
# 4: tables may have nothing to say of unseen values.
# 5: levels of a chain may be mixed, and weighted.
FORMAT = 5

# What a model is that is whole, but of a learner of somebody else's.
UNREGISTERED = ", unless that is a learner of your own: then import the module that registers it"

# -- values ------------------------------------------------------------------------------------


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,18}", text) is not None


def _is_bits(text: str) -> bool:
    return not text or re.fullmatch(r"[0-9]{1,3}", text) is not None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_above_0(text: str) -> bool:
    return _is_number(text) and float(text) > 0


def _is_json(kind: type) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            return isinstance(json.loads(text), kind)
        except (ValueError, RecursionError):
            return False

    return check


def _is_type(text: str) -> bool:
    try:
        return bool(plain_type(text))
    except ValueError:
        return False


def _is_learner(text: str) -> bool:
    from sqlbn.learners import learners

    return text in learners()


_CHECKS: dict[Value, Callable[[str], bool]] = {
    "text": lambda text: True,
    "whole": _is_whole,
    "bits": _is_bits,
    "number": _is_number,
    "above 0": _is_above_0,
    "object": _is_json(dict),
    "list": _is_json(list),
    "boolean": _is_json(bool),
    "type": _is_type,
    "learner": _is_learner,
    "backoff": lambda text: text in get_args(Backoff),
    "estimate": lambda text: text in get_args(Estimate),
    "missing": lambda text: text in get_args(Missing),
    "unseen": lambda text: text in get_args(Unseen),
    "smoothing": lambda text: text in get_args(Rule),
    "weightings": lambda text: text in get_args(Weighting),
    "weight_kind": lambda text: text in ("", *WEIGHT_KINDS),
}
_VALUES = {key.name: key.value for key in META}
# Stored as JSON; the rest is text by nature: a column may be called 1 and a model 2024.
_AS_JSON = ("whole", "bits", "number", "above 0", "object", "list", "boolean")


def decoded_meta(meta: Mapping[str, str]) -> dict[str, Any]:
    """Every value as what it was before it was stored.

    >>> decoded_meta({"name": "2024", "rows": "300", "options": '{"k": 2}'})
    {'name': '2024', 'rows': 300, 'options': {'k': 2}}
    """
    return {
        key: _decoded(value) if _VALUES.get(key, "object") in _AS_JSON else value
        for key, value in meta.items()
    }


def _decoded(value: str | None) -> Any:
    try:
        return json.loads(value) if value is not None else None
    except (ValueError, RecursionError):
        return value


# -- reading -----------------------------------------------------------------------------------


def meta_problem(meta: Mapping[str, str | None]) -> str:
    """What is wrong with a meta table; '' where nothing is."""
    for key in META:
        if key.required and key.name not in meta:
            return f"meta.{key.name} is missing"
    for name, value in meta.items():
        if value is None:
            return f"meta.{name} is NULL"
        if name in _VALUES and not _CHECKS[_VALUES[name]](value):
            return f"meta.{name} is {_shortened(value)}{UNREGISTERED if name == 'learner' else ''}"
    return ""


def _shortened(value: str) -> str:
    return repr(value if len(value) < 60 else value[:60] + "…")


def read_meta(workspace: Workspace) -> dict[str, str]:
    """The meta table of a model: every value has the type that its key asks for."""
    check_columns(workspace, "meta")
    found = {str(key): value for key, value in workspace.read("meta", "key", "value")}
    # Of a later format nothing else is known.
    problem = "" if is_later(found) else meta_problem(found)
    if problem:
        refuse(workspace.label, problem)
    return found


def is_later(meta: Mapping[str, str | None]) -> bool:
    """Whether a model is of a later format than this program writes."""
    stored = meta.get("format")
    return stored is not None and _is_whole(stored) and int(stored) > FORMAT


# -- writing -----------------------------------------------------------------------------------


def write_meta(workspace: Workspace, meta: Mapping[str, Any]) -> None:
    """The workspace's `meta`; anything that is not text or a number is written as JSON."""
    workspace.create("meta")
    add_meta(workspace, meta)


def add_meta(workspace: Workspace, meta: Mapping[str, Any]) -> None:
    """More of the same."""
    workspace.insert(
        "meta",
        [
            (key, value if isinstance(value, str) else json.dumps(value, default=str))
            for key, value in meta.items()
        ],
    )


def now() -> str:
    """The time, for people and programs."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def program_meta() -> dict[str, Any]:
    """Which programs wrote a model."""
    return {
        "format": FORMAT,
        "sqlbn": __version__,
        "duckdb": duckdb.__version__,
        "python": platform.python_version(),
        "dialect": "duckdb",
    }


def fit_meta(prepared: Prepared, options: FitOptions, progress: Progress) -> dict[str, Any]:
    """What a fit writes into `meta`."""
    training = prepared.training
    return {
        **program_meta(),
        "created_at": now(),
        "learner": options.make_learner().name,
        "options": options.stored,
        **({"elementary": prepared.learned.coarse} if prepared.learned.coarse else {}),
        "target": "" if training.target == NO_CLASS else training.target,
        "target_type": plain_type(prepared.class_book.sql_type),
        "m": options.rules.m,
        "backoff": options.rules.backoff,
        "estimate": options.rules.estimate,
        "missing": options.rules.missing,
        "unseen": options.rules.unseen,
        "smoothing": options.rules.rule,
        **({"effort": options.effort} if options.effort is not None else {}),
        "weight": options.weight or "",
        "weight_bits": training.weights.fraction_bits if training.weights is not None else "",
        "weight_kind": training.weights.kind if training.weights is not None else "",
        "where": options.where or "",
        "source": training.source.label,
        "files": [{"path": f.name, "bytes": f.size} for f in training.source.files],
        "rows": training.rows,
        "rows_skipped": training.skipped,
        "seconds": {name: round(taken, 4) for name, taken in progress.seconds.items()},
    }
