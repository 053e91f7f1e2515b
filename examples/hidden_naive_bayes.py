"""Hidden naive Bayes, a learner of one file: what `@sqlbn.register` makes of a page of code.

    python examples/hidden_naive_bayes.py [FILE TARGET]

Every attribute has a hidden parent that stands for all others: P(x_i | hidden, y) is the sum over
the other attributes j of w_ij P(x_i | x_j, y), where w_ij is the conditional mutual information
of i and j given the class, as a share of the sum over j. No structure is searched for. (Jiang,
Zhang and Cai, "A novel Bayes model: hidden naive Bayes", IEEE TKDE 21, 2009.)

A sum over weighted parent sets is what sqlbn calls a collection, so the learner says which sets are
counted first (pairs: they tell CMI) and which terms, with which weights, these counts give. Fit,
predict, update, forget, merge, export, the macro `predict` and Spark come with the kind.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import sqlbn
from sqlbn.kinds.collection.collection_kind import CollectionKind
from sqlbn.kinds.kind import Kind, Needs
from sqlbn.learners.base import Smooths
from sqlbn.structure.information import Information
from sqlbn.structure.parent_sets import Term
from sqlbn.structure.shape import Shape
from sqlbn.structure.term_rules import TermRule, shape_of_terms, small_sets


class HiddenParents(TermRule):
    """Every other attribute as a parent, by its share of the CMI."""

    def early(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        return small_sets(len(names), 2)

    def shape(
        self, info: Information, names: Sequence[str], super_parent: int | None = None
    ) -> Shape:
        return shape_of_terms(info.order, [t for i in range(len(names)) for t in hidden(info, i)])


def hidden(info: Information, i: int) -> list[Term]:
    """The terms of one attribute; alone where nothing depends on it."""
    links = [float(link) for link in info.cmi[i]] if info.cmi is not None else []
    total = sum(links)
    found = [Term(i, (j,), link / total) for j, link in enumerate(links) if link > 0]
    return found or [Term(i, ())]


@sqlbn.register
class HiddenNaiveBayes(sqlbn.Learner):
    """Each attribute depends on a weighted mixture of all others."""

    name: ClassVar[str] = "hnb"
    summary: ClassVar[str] = "hidden naive Bayes: a mixture of all other attributes as parent"
    smooths: ClassVar[Smooths] = Smooths("laplace", "value")
    has_backoff: ClassVar[bool] = False

    @property
    def needs(self) -> Needs:
        return Needs(pairs=True)

    @property
    def kind(self) -> Kind:
        return CollectionKind(HiddenParents())


def main(path: str, target: str) -> None:
    """Two folds of hnb beside those of other learners without a search."""
    print(f"{Path(path).name}, two folds   rmse   error")
    for learner in ("nb", "hnb", "a1de"):
        found = sqlbn.evaluate(path, target, learner, folds=2)
        print(f"{learner:>24} {found.rmse:8.4f} {found.zero_one:7.4f}")
    with sqlbn.fit(path, target, "hnb") as model:
        print(model.terms.slice(0, 3).to_pylist())


if __name__ == "__main__":
    given = sys.argv[1:] or [str(Path(__file__).parent / "adult.parquet"), "class"]
    main(*given)
