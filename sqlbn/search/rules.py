"""What a user says of a bound, as a rule."""

from __future__ import annotations

from sqlbn.errors import OptionError, opt
from sqlbn.options.catalogue import checked
from sqlbn.search.bounds import Rule, check_deltas, checked_bound

DELTA = 1e-9
# In nats: about what the paper's 0.05 % is of the log-likelihood of a row in its networks.
TAU = 0.005
BLOCK = 10_000


def given_rule(
    bound: str | None,
    delta: float | None = None,
    delta_star: float | None = None,
    tau: float | None = None,
    block: int | None = None,
) -> Rule | None:
    """The rule of these options for samples that double; None without a bound."""
    said = {"delta": delta, "delta_star": delta_star, "tau": tau, "block": block}
    if bound is None:
        for option, value in said.items():
            if value is not None:
                raise OptionError(f"{opt(option)} requires {opt('bound')}")
        return None
    check_deltas(delta, delta_star)
    checked("tau", tau)
    checked("block", block)
    return Rule(
        checked_bound(bound),
        tau=TAU if tau is None else tau,
        block=BLOCK if block is None else block,
        delta=DELTA if delta is None else delta,
        delta_star=delta_star,
        doubling=True,
    )
