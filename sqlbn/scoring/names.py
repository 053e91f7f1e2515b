"""Names of ours inside scoring queries."""

from __future__ import annotations

from types import SimpleNamespace

# Every name starts like this, to stay clear of the user's columns and tables.
RESERVED = "__sqlbn_"
NAMES = SimpleNamespace(
    score=f"{RESERVED}s",
    weight=f"{RESERVED}e",
    total=f"{RESERVED}total",
    top=f"{RESERVED}top",
    y=f"{RESERVED}y",
    w=f"{RESERVED}w",
    code=f"{RESERVED}c",
    key=f"{RESERVED}k",
    # Of rankings:
    highest=f"{RESERVED}highest",
    best=f"{RESERVED}best",
    second=f"{RESERVED}second",
    rest=f"{RESERVED}rest",
    # Of models that unfold rows:
    row=f"{RESERVED}row",
    identity=f"{RESERVED}i",
    base=f"{RESERVED}base",
    turn=f"{RESERVED}turn",
    level=f"{RESERVED}level",
    divisor=f"{RESERVED}b",
    packed=f"{RESERVED}p",
    step=f"{RESERVED}step",
    rank=f"{RESERVED}rank",
    # Of collections:
    child=f"{RESERVED}child",
    unseen=f"{RESERVED}unseen",
)
