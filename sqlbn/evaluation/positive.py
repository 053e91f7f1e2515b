"""The positive class: whose AUC, aoPRC and Matthews correlation are given."""

from __future__ import annotations

from collections.abc import Sequence

from sqlbn.encode.books import learn_classes
from sqlbn.encode.weights import check_weights
from sqlbn.engines import DuckDBEngine
from sqlbn.errors import OptionError, opt
from sqlbn.learners.fit_options import FitOptions
from sqlbn.sources import Source

_MOST_NAMED = 20


def asked_class(positive: object) -> str | None:
    """A class as models name it, which is text.

    >>> asked_class(True), asked_class(1), asked_class("yes"), asked_class(None)
    ('true', '1', 'yes', None)
    """
    if positive is None:
        return None
    return str(positive).lower() if isinstance(positive, bool) else str(positive)


def positive_class(
    asked: str | None, classes: Sequence[str], counts: Sequence[float]
) -> str | None:
    """The class that was asked for, else the rarer of two (the second where they are even).

    None where there are more than two and none was asked for: figures are means over all.
    """
    if asked is not None:
        check_class(asked, classes)
        return asked
    if len(classes) != 2:
        return None
    return classes[0] if counts[0] < counts[1] else classes[1]


def check_class(asked: str, classes: Sequence[str]) -> None:
    """An error that lists the classes where one is asked for that is not there."""
    if asked not in classes:
        named = ", ".join(map(repr, classes[:_MOST_NAMED]))
        more = ", …" if len(classes) > _MOST_NAMED else ""
        raise OptionError(f"{opt('positive', asked)} is no class; there is {named}{more}")


def positive_of_rows(
    engine: DuckDBEngine, source: Source, options: FitOptions, asked: str | None
) -> str | None:
    """The same by all rows of a source, so that it is one class for all parts of them."""
    weights = None
    if options.weight is not None:
        weights = check_weights(engine, source, source.column(options.weight, "the weight"))
        source = source.filtered(f"{weights.value_sql()} > 0")
    target = source.column(options.target, "the target")
    _, counted = learn_classes(engine, source, target, weights)
    return positive_class(asked, [name for name, _ in counted], [n for _, n in counted])
