"""Cut points of the further members of an ensemble: drawn anew for each of them.

Every second member has random quantiles, the others the intervals that tell classes apart in a
bootstrap sample. Both come from counts of values by class, so that they do not depend on the order
of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sqlbn.data.sampling import drawing
from sqlbn.encoding.codebook import Codebook
from sqlbn.encoding.discretise.mdl import mdl_partition
from sqlbn.encoding.discretise.modl import cuts_at
from sqlbn.encoding.profile import ColumnProfile
from sqlbn.encoding.value_classes import Array, Labelled, ValueClasses, numeric_counts
from sqlbn.engines import Session
from sqlbn.engines.limits import Limits


def recut_books(
    rows: Labelled,
    profiles: Sequence[ColumnProfile],
    books: Sequence[Codebook],
    n: int,
    progress: Callable[[], None],
) -> list[Codebook]:
    """Of every quantity `n` further codebooks; those of one member stand together.

    Also of whole numbers that are few enough to be categories: they have an order all the same.
    """
    own = {book.name: book for book in books}
    taken = {book.name.lower() for book in books}
    found: list[list[Codebook]] = [[] for _ in range(n)]
    wanted = [profile for profile in profiles if profile.name in own]
    for place, (profile, cells) in enumerate(numeric_counts(rows, wanted)):
        book = own[profile.name]
        for number, cuts in enumerate(_recuts(cells, rows, place, n)):
            if cuts and cuts != book.cuts:
                name = _free(f"{book.name}#{number + 1}", taken)
                missing = profile.present < rows.rows
                found[number].append(_recut(profile, name, cuts, missing))
        progress()
    return [book for made in found for book in made]


def _recut(
    profile: ColumnProfile, name: str, cuts: tuple[float, ...], some_missing: bool
) -> Codebook:
    """A column in other intervals."""
    n = len(cuts) + 1
    missing = n if some_missing else None
    return Codebook(
        name, profile.sql_type, "numeric", n + some_missing, missing, cuts, read_from=profile.name
    )


def _free(name: str, taken: set[str]) -> str:
    """A name that no column has: the engine ignores case."""
    while name.lower() in taken:
        name += "#"
    taken.add(name.lower())
    return name


def _recuts(cells: ValueClasses, rows: Labelled, place: int, n: int) -> Iterator[tuple[float, ...]]:
    session = rows.session
    most = _most_bins(rows.rows, session.limits)
    for number in range(n):
        random = drawing(session.settings.seed, place, number)
        if not cells.some_present:
            bounds = np.zeros(0, np.intp)
        elif number % 2 == 0:
            bins = _drawn_bins(session, number, most)
            bounds = random_quantiles(cells.counts.sum(axis=1), bins, random)
        else:
            bounds = bootstrap_intervals(cells.counts, random)
        yield cuts_at(cells.uppers, bounds)


def _drawn_bins(session: Session, number: int, most: int) -> int:
    """One number for all columns of a member: CMI is larger between finer cuts."""
    least = session.limits.recut_bins[0]
    drawn = drawing(session.settings.seed, number)
    return round(math.exp(drawn.uniform(math.log(least), math.log(most))))


def _most_bins(rows: int, limits: Limits) -> int:
    """How fine cuts may be: pairs of intervals must not outnumber the rows."""
    least, most = limits.recut_bins
    return max(least, min(most, math.isqrt(rows) // 2))


def random_quantiles(totals: Array, bins: int, random: np.random.Generator) -> Array:
    """Where intervals begin: at quantiles, each moved by up to half a step."""
    shares = (np.arange(1, bins) + random.uniform(-0.5, 0.5, bins - 1)) / bins
    below = np.cumsum(totals)
    at = np.unique(np.searchsorted(below, shares * below[-1], side="left") + 1)
    found: Array = at[at < len(totals)]
    return found


def bootstrap_intervals(counts: Array, random: np.random.Generator) -> Array:
    """Where intervals by Fayyad and Irani begin, of rows drawn with replacement."""
    drawn = random.poisson(counts).astype(float)
    present = np.flatnonzero(drawn.any(axis=1))
    if len(present) < 2:
        return np.zeros(0, np.intp)
    found: Array = present[np.asarray(mdl_partition(drawn[present]), dtype=np.intp)]
    return found
