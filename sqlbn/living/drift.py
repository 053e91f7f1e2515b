"""The band in which the loss of a stream is expected, and whether it has left it."""

from __future__ import annotations

import math
import statistics
from collections import deque
from dataclasses import dataclass

# Batches whose mean is the recent loss; earlier batches that the band is made of, at least and at
# most: what was learned long ago says little about now.
RECENT = 5
LEAST, MOST = 10, 50
# Half the width of the band in standard errors of the recent mean, and what is added while the
# band is made of few batches. Simulated, losses normal and steady: in a thousand batches 0.2
# warnings at 3.5, 0.08 at 4, none at 5.
WIDTH = 4.0
_FEW = 4.0


@dataclass(frozen=True)
class Verdict:
    """The recent loss, the upper end of its band (None while that is not known), and the news."""

    recent: float
    high: float | None
    drift: bool


class Band:
    """Watches the losses of batches one after the other; an increase out of the band is drift.

    After that the band is made anew: what was normal before is normal no longer.
    """

    def __init__(self) -> None:
        self._earlier: deque[float] = deque(maxlen=MOST)
        self._recent: deque[float] = deque(maxlen=RECENT)

    def observe(self, loss: float) -> Verdict:
        """The verdict on the batch with this loss."""
        if len(self._recent) == RECENT:
            self._earlier.append(self._recent[0])
        self._recent.append(loss)
        recent = statistics.fmean(self._recent)
        if len(self._earlier) < LEAST:
            return Verdict(recent, None, drift=False)
        error = statistics.stdev(self._earlier) / math.sqrt(RECENT)
        width = WIDTH * (1 + _FEW / len(self._earlier))
        high = statistics.fmean(self._earlier) + width * error
        drift = recent > high
        if drift:  # the batches of the change itself are no measure of what comes after it
            self._earlier.clear()
            self._recent.clear()
        return Verdict(recent, high, drift)
