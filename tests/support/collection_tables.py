"""Small tables for collections, and the sum over networks of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import reference
import reference_collections as rc
from reference_collections import Collection

F = Fraction  # hand-made fractions are many


# p three times, q twice. Values: s is a or b, t is c or d.
GAPS = [("a", "c", "p"), ("a", "d", "p"), ("b", "d", "q"), (None, "d", "q"), ("b", None, "p")]


XOR = [(x, z, "pq"[x != z]) for x in "01" for z in "01"]


def sum_of_networks(ref: Collection, rows: Sequence[Any]) -> list[list[F]]:
    """The paper's equation 1: each network by itself, their joint probabilities added up."""
    answer = []
    for row in rows:
        total = [F(0)] * len(ref.classes)
        for choice in product(*ref.terms.values()):
            network = replace(
                ref, terms={i: (term,) for i, term in zip(ref.terms, choice, strict=True)}
            )
            part = rc.joint(network, rc.tally(network), network.known(row))
            total = [p + q for p, q in zip(total, part, strict=True)]
        answer.append(reference.normalised(total))
    return answer
