"""Who depends on whom: the parents that KDB and TAN choose."""

from __future__ import annotations

from dataclasses import dataclass

from sqlbn.structure.information import Information


@dataclass(frozen=True)
class Structure:
    """Attributes in MI order, and the parents of each (besides the class), strongest first."""

    order: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]

    def family(self, attribute: int, class_variable: int) -> tuple[int, ...]:
        """The attribute, its parents in their order, the class."""
        return (attribute, *self.parents[attribute], class_variable)


def no_parents(info: Information) -> Structure:
    """Naive Bayes."""
    return Structure(tuple(info.order), ((),) * len(info.order))


def k_dependence(info: Information, k: int) -> Structure:
    """KDB: the k earlier attributes with the highest CMI; ties go to the earlier in MI order."""
    order = info.order
    parents: list[tuple[int, ...]] = [()] * len(order)
    if info.cmi is not None:
        for place, i in enumerate(order):
            # Sorting is stable: among equals the MI order stays.
            ranked = sorted(order[:place], key=lambda j: -info.cmi[i, j])  # type: ignore[index]
            parents[i] = tuple(ranked[:k])
    return Structure(tuple(order), tuple(parents))


def spanning_tree(info: Information) -> Structure:
    """TAN: the maximum spanning tree on CMI, grown from the attribute with the highest MI.

    Ties: the new attribute earlier in MI order, then the parent earlier in MI order.
    """
    order = info.order
    parents: list[tuple[int, ...]] = [()] * len(order)
    if info.cmi is None:
        return Structure(tuple(order), tuple(parents))
    # For each attribute outside the tree: its strongest link and the parent's place in the order.
    link = {i: (info.cmi[order[0], i], 0) for i in order[1:]}
    while link:
        new = max(link, key=lambda i: (link[i][0], -order.index(i)))
        parents[new] = (order[link.pop(new)[1]],)
        place = order.index(new)
        for i, (strength, at) in link.items():
            if (info.cmi[new, i], -place) > (strength, -at):
                link[i] = (info.cmi[new, i], place)
    return Structure(tuple(order), tuple(parents))
