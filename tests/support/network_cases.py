"""Networks that several tests of networks use."""

from __future__ import annotations

import numpy as np

from sqlbn.networks import Network, Variable

YES_NO = ("yes", "no")


def asia() -> Network:
    """Lauritzen and Spiegelhalter's example (1988), as their article gives it."""

    def of(name: str, parents: tuple[str, ...], *yes: float) -> Variable:
        table = np.array([[p, 1 - p] for p in yes]).reshape([2] * (len(parents) + 1))
        return Variable(name, YES_NO, parents, table)

    return Network(
        (
            of("asia", (), 0.01),
            of("tub", ("asia",), 0.05, 0.01),
            of("smoke", (), 0.5),
            of("lung", ("smoke",), 0.1, 0.01),
            of("bronc", ("smoke",), 0.6, 0.3),
            of("either", ("lung", "tub"), 1, 1, 1, 0),
            of("xray", ("either",), 0.98, 0.05),
            of("dysp", ("bronc", "either"), 0.9, 0.8, 0.7, 0.1),
        ),
        "asia",
    )
