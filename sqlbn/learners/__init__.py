"""Learners: one file each, saying which counts it needs and what structure they give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlbn.learners.registry import learners, make_learner, register, unregister

if TYPE_CHECKING:
    from sqlbn.learners.base import Learner

__all__ = ["Learner", "learners", "make_learner", "register", "unregister"]


def __getattr__(name: str) -> Any:
    # Imported on first use: the base needs counts and structures, the registry does not.
    if name == "Learner":
        from sqlbn.learners.base import Learner

        return Learner
    for learner in learners().values():
        if learner.__name__ == name:
            return learner
    raise AttributeError(f"module 'sqlbn.learners' has no attribute {name!r}")
