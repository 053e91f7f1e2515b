"""What a way of fitting works on, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlbn.draft import Draft
from sqlbn.encode.encoded import Encoded
from sqlbn.learners.fit_options import FitOptions
from sqlbn.preparing import (
    Prepared,
)
from sqlbn.progress import Progress
from sqlbn.scoring.loo_losses import Loss
from sqlbn.structure.shape import Shape


def _no_judge(loss: Loss) -> float:
    raise AssertionError("a learner without leave-one-out")


@dataclass(frozen=True)
class Job:
    """What a way of fitting works on; `shape` is that of a model to follow, if there is one.

    Of a trial only the loss matters.
    """

    draft: Draft
    encoded: Encoded
    prepared: Prepared
    options: FitOptions
    progress: Progress
    shape: Shape | None
    is_trial: bool = False


@dataclass(frozen=True)
class Fitted:
    """What a fit chose, for the meta table, and its loss by leave-one-out while rows are there."""

    chosen: dict[str, Any]
    judge: Callable[[Loss], float] = _no_judge
