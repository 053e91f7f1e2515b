"""One seed of the user, several independent sources of random numbers."""

from __future__ import annotations

from numpy.random import SeedSequence

from sqlbn.errors import OptionError

OF_NETWORKS, OF_ROWS = range(2)


def branch(seed: int, purpose: int) -> SeedSequence:
    """What a purpose draws from: a network's rows have nothing to do with how it was made."""
    if seed < 0:
        raise OptionError("give 0 or more", seed=seed)
    return SeedSequence(seed, spawn_key=(purpose,))
