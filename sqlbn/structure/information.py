"""What counts say of attributes: mutual information from sums of n ln n (nats), subsumption."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

# Variables that are counted together; the class has the number of attributes.
Family = tuple[int, ...]
Matrix = npt.NDArray[np.float64]

# Values are compared after rounding, so that ties do not depend on the order of a sum.
DECIMALS = 12


@dataclass(frozen=True)
class Information:
    """MI of each attribute with the class; CMI of each pair given it, where pairs were counted.

    `beyond[i, j]`, where asked for, is what X_i says of the class beyond X_j: I(X_i; Y | X_j).
    `gains` are those of links between attributes in a score of networks, where a learner has one;
    `names` are the attributes, for learners that are told of some by name. `drawn` is another
    order than that of MI, for a member of an ensemble.
    """

    mi: Matrix
    cmi: Matrix | None
    gains: Matrix | None = None
    beyond: Matrix | None = None
    names: tuple[str, ...] = ()
    drawn: tuple[int, ...] | None = None

    @property
    def order(self) -> list[int]:
        """Attributes by MI, highest first; ties by position in the schema; or as `drawn`."""
        if self.drawn is not None:
            return list(self.drawn)
        return sorted(range(len(self.mi)), key=lambda i: (-self.mi[i], i))


class CountSums(Protocol):
    """Sums over the cells of families: of n ln n and, for the score `bayes`, of ln Gamma."""

    @property
    def n_log_n(self) -> Mapping[Family, float]:
        """Of each family, the class among them."""

    @property
    def log_gamma(self) -> Mapping[Family, float] | None:
        """Of the same families, where they were asked for."""

    @property
    def cards(self) -> Sequence[int]:
        """Values of each attribute and, last, of the class."""

    @property
    def total(self) -> float:
        """The rows that were counted."""


@runtime_checkable
class PairMatrices(Protocol):
    """Sums of n ln n of pairs as symmetric matrices, NaN where a pair was not counted."""

    @property
    def joint(self) -> Matrix:
        """With the class."""

    @property
    def bare(self) -> Matrix | None:
        """Without it, where all pairs were counted so."""


def single_families(d: int) -> list[Family]:
    """What MI needs: each attribute alone and with the class (variable d), and the class."""
    return [*((i,) for i in range(d)), *((i, d) for i in range(d)), (d,)]


def pair_families(d: int) -> list[Family]:
    """What CMI needs besides: each pair of attributes with the class."""
    return [(i, j, d) for i in range(d) for j in range(i + 1, d)]


def bare_pair_families(d: int) -> list[Family]:
    """What I(X_i; Y | X_j) needs besides: each pair without the class."""
    return [(i, j) for i in range(d) for j in range(i + 1, d)]


def information(sums: Mapping[Family, float], d: int, total: float) -> Information:
    """MI and, where the pairs were counted, CMI; rounded."""
    with_class = np.array([sums[(i, d)] for i in range(d)])
    alone = np.array([sums[(i,)] for i in range(d)])
    of_class = sums[(d,)]
    mi = (with_class - alone - of_class + total * math.log(total)) / total
    joint, bare = _pair_matrices(sums, d)
    counted = ~np.isnan(joint)
    if d > 1 and not counted.any():
        return Information(_nonnegative(mi), None)
    # The two sums are added first: i and j then give the same bits in either order.
    cmi = (joint + of_class - (with_class[:, None] + with_class[None, :])) / total
    # Members of an ensemble have attributes of their own: pairs of others are not counted.
    cmi[~counted] = 0.0
    if bare is None:
        return Information(_nonnegative(mi), _nonnegative(cmi))
    beyond = (joint + alone[None, :] - (bare + with_class[None, :])) / total
    np.fill_diagonal(beyond, 0.0)
    return Information(_nonnegative(mi), _nonnegative(cmi), beyond=_nonnegative(beyond))


def _pair_matrices(sums: Mapping[Family, float], d: int) -> tuple[Matrix, Matrix | None]:
    """The sums of pairs with the class and, where all were counted so, without it."""
    if isinstance(sums, PairMatrices):
        return sums.joint, sums.bare
    joint, bare = np.full((d, d), np.nan), np.zeros((d, d))
    for i, j, y in pair_families(d):
        if (i, j, y) in sums:
            joint[i, j] = joint[j, i] = sums[(i, j, y)]
    bare_pairs = bare_pair_families(d)
    if not all(pair in sums for pair in bare_pairs):
        return joint, None
    for i, j in bare_pairs:
        bare[i, j] = bare[j, i] = sums[(i, j)]
    return joint, bare


def joint_mi(with_class: float, alone: float, of_class: float, total: float) -> float:
    """MI of several attributes, taken as one, with the class: from three sums of n ln n."""
    mi = (with_class - alone - of_class + total * math.log(total)) / total
    return float(_nonnegative(np.array([mi]))[0])


def pair_cmi(joint: float, one: float, other: float, of_class: float, total: float) -> float:
    """CMI of two attributes given the class: from the sums of n ln n of their families."""
    cmi = (joint + of_class - (one + other)) / total
    return float(_nonnegative(np.array([cmi]))[0])


def rounded(values: Matrix) -> Matrix:
    """Values as they are compared."""
    # Adding zero turns -0.0 into 0.0.
    found: Matrix = np.round(values, DECIMALS) + 0.0
    return found


def _nonnegative(values: Matrix) -> Matrix:
    return np.maximum(rounded(values), 0.0)


Array = npt.NDArray[Any]


def implications(
    special: Array,
    general: Array,
    together: Array,
    special_alone: Array,
    general_alone: Array,
    min_count: int,
    special_is_first: bool,
) -> Array:
    """Which cells of a pair say that the value of the first implies that of the second.

    `special` and `general` are the codes of each cell and `together` its count; the others are
    counts by code. Where both values cover the same rows, the attribute that comes first in the
    schema stays.
    """
    n_special, n_general = special_alone[special], general_alone[general]
    implied = (together == n_special) & (together > min_count)
    wider = n_general > n_special
    if special_is_first:
        wider |= n_general == n_special
    found: Array = np.asarray(implied & wider)
    return found
