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
# What leave-one-out says for cuts that the classes made is not believed to more than this share on
# a part of the rows: it does not cut anew for every row, which flatters most where rows are few.
_FLATTERY = 0.1


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

    Such are those that cut finer; of mdl and modl, whose cuts the classes make, the other one; and
    beside these the best of those whose cuts they do not make.
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
    in all rows. Beside one whose cuts the classes made it may be behind by a tenth, too.
    """
    part = {t.encoding: t for t in trials}
    if not part:
        return False
    second, before = part[encoding], part[best.encoding]
    gained = rank(before, loss) - rank(best, loss)
    allowed = max(gained, -2 * gained)
    if not is_fair(best.encoding):
        allowed = max(allowed, _FLATTERY * abs(rank(before, loss)))
    elif is_fair(encoding) and second.n_codes <= best.n_codes:
        return True
    return rank(second, loss) - rank(before, loss) > allowed


def contradicted(
    trials: Sequence[Trial], full: Sequence[Trial], loss: Loss
) -> list[Discretisation]:
    """The next encoding to fit because all rows may contradict what the part said of it, if any.

    It was ruled out by the part: behind the best of all rows as it is now, even if all rows had
    made its loss smaller by as much as that of the one that gained most, or not at all. Where they
    made the loss of the best larger, the part had flattered it, and others come before it; where
    they favoured one that was behind, they may favour others that were.
    """
    part = {t.encoding: rank(t, loss) for t in trials}
    if not part or trials[0].rows == full[0].rows:
        return []
    gained = max(0.0, *(part[t.encoding] - rank(t, loss) for t in full))
    best = min(rank(t, loss) for t in full)
    left = {e: value for e, value in part.items() if e not in {t.encoding for t in full}}
    first = min(left, key=left.__getitem__, default=None)
    return [first] if first is not None and left[first] - gained < best else []
