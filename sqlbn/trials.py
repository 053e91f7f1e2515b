"""Which encodings are worth a trial, and which trials a fit: the rules of `--discretise auto`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlbn.encode.partitions import Discretisation
from sqlbn.scoring.loo_losses import Loss
from sqlbn.structure.information import DECIMALS

# More intervals are of no use where the last step to more of them made the loss larger, and it is
# larger than the best by this share.
_PAST_BEST = 0.05
# Cuts that were not made by the classes are judged fairly: they are fitted on all rows beside a
# best one whose cuts were, unless a part of the rows saw them behind by more than this share.
_FAIR_SHARE = 0.1


@dataclass(frozen=True)
class Trial:
    """One encoding on some rows: its loss, and how many codes its attributes have in all."""

    encoding: Discretisation
    rows: int
    value: float
    n_codes: int
    numeric: bool


def in_order_of_trial(chosen: Sequence[Discretisation]) -> list[Discretisation]:
    """The fewest intervals, what finds their number itself, then more and more intervals."""
    by_bins = sorted((e for e in chosen if e.method == "ef"), key=lambda e: e.bins)
    return [*by_bins[:1], *(e for e in chosen if e.method != "ef"), *by_bins[1:]]


def is_known(encoding: Discretisation, trials: Sequence[Trial]) -> bool:
    """Whether another trial was the same: without quantities only grouping makes a difference."""
    plain = [t for t in trials if not t.encoding.groups_values]
    return bool(plain) and not plain[0].numeric and not encoding.groups_values


def is_hopeless(encoding: Discretisation, trials: Sequence[Trial], loss: Loss) -> bool:
    """Whether fewer intervals were too many already."""
    coarser = [rank(t, loss) for t in trials if t.encoding.method == "ef"]
    if encoding.method != "ef" or len(coarser) < 2 or coarser[-1] <= coarser[-2]:
        return False
    best = min(rank(t, loss) for t in trials)
    return coarser[-1] > best + _PAST_BEST * abs(best)


def rank(trial: Trial, loss: Loss) -> float:
    """The loss, smaller is better; the last bits of a parallel sum do not decide."""
    value = -trial.value if loss == "mcc" else trial.value
    return round(value, DECIMALS)


def finalists(trials: Sequence[Trial], loss: Loss, of_part: bool) -> list[Discretisation]:
    """The best, and of a part others that more rows may favour; ties go to the first.

    Such are those that cut finer; of mdl and modl, which find their cuts in the rows themselves,
    the other one; and beside these the best of those that do not, for leave-one-out does not cut
    anew for every row: it flatters cuts that the classes made, most where rows are few.
    """
    best = min(trials, key=lambda t: rank(t, loss))
    others = [t for t in trials if of_part and t is not best and _may_overtake(t, best)]
    fair = [t for t in trials if of_part and is_fair(t.encoding) and not is_fair(best.encoding)]
    more = [min(found, key=lambda t: rank(t, loss)) for found in (others, fair) if found]
    return list(dict.fromkeys(t.encoding for t in (best, *more)))


def is_fair(encoding: Discretisation) -> bool:
    """Whether cuts do not look at the classes, so that leave-one-out does not flatter them."""
    return encoding.method == "ef"


def _may_overtake(trial: Trial, best: Trial) -> bool:
    both_find = trial.encoding.method != "ef" and best.encoding.method != "ef"
    return trial.n_codes > best.n_codes or both_find


def is_out(encoding: Discretisation, best: Trial, trials: Sequence[Trial], loss: Loss) -> bool:
    """Whether all rows will not favour the second encoding, now that the best has seen them.

    So where it was behind by more than the best gained by all rows: it would have to gain more than
    twice as much. (In all cases seen in which it came out first after a gain, on letter, pendigits
    and satellite, it was behind by half of that or less.) A best one that lost was flattered by the
    part, then twice that is allowed. Out is also who will have fewer intervals than the best found
    in all rows, unless it is `is_fair` and the best is not: then it may be behind by a tenth, too.
    """
    part = {t.encoding: t for t in trials}
    if not part:
        return False
    second, before = part[encoding], part[best.encoding]
    allowed = _allowed(before, best, loss)
    if is_fair(encoding) and not is_fair(best.encoding):
        allowed = max(allowed, _FAIR_SHARE * abs(rank(before, loss)))
    elif is_fair(encoding) and second.n_codes <= best.n_codes:
        return True
    return rank(second, loss) - rank(before, loss) > allowed


def _allowed(before: Trial, after: Trial, loss: Loss) -> float:
    """By how much others may have been behind on a part that all rows have changed so."""
    gained = rank(before, loss) - rank(after, loss)
    return max(gained, -2 * gained)


def contradicted(
    trials: Sequence[Trial], full: Sequence[Trial], loss: Loss
) -> list[Discretisation]:
    """The next encoding to fit because all rows contradict what the part said; none: an empty list.

    They do where they made the loss of one larger than it was on the part, or where the best of all
    rows was not the best on the part. Then whoever was better on the part than the best is now, or
    behind it by as much as `is_out` allows, is fitted too, one after the other.
    """
    part = {t.encoding: t for t in trials}
    if not part or trials[0].rows == full[0].rows:
        return []
    best = min(full, key=lambda t: rank(t, loss))
    fitted = [part[t.encoding] for t in full]
    leader, before = min(fitted, key=lambda t: rank(t, loss)), part[best.encoding]
    flattered = max(rank(t, loss) - rank(part[t.encoding], loss) for t in full)
    if flattered <= 0 and before is leader:
        return []
    most = max(
        rank(best, loss),
        rank(before, loss) + _allowed(before, best, loss),
        rank(leader, loss) + 2 * flattered,
    )
    left = [t for t in trials if t not in fitted and rank(t, loss) <= most]
    return [min(left, key=lambda t: rank(t, loss)).encoding] if left else []
