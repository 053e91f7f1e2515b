"""Which learners and options go with long input, where there are no columns to speak of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlbn.errors import OptionError, opt
from sqlbn.options.option import listed_words

if TYPE_CHECKING:
    from sqlbn.learners.fit_options import FitOptions

# The learners of long input, and which of their options are for columns only.
_LEARNERS: Mapping[str, tuple[str, ...]] = {"nb": ("members",), "kdb": ("members",)}
# What is about columns, weights of rows, or passes that long input has not.
_NOT_FOR_CELLS = (
    *("columns", "exclude", "categorical", "numeric", "keep", "weight", "encodings"),
    *("loocv_sample", "structure_sample", "bound", "race", "tau", "block", "effort"),
)
# Of these some words are fine.
_WORDS: Mapping[str, tuple[Any, ...]] = {
    "discretise": (None, "ef"),
    "smoothing": (None, "backoff"),
    "weights": (None, "none"),
}


def check_long(options: FitOptions) -> None:
    """An error for what does not go with long input, or goes with nothing else."""
    if not options.long:
        for option in ("labels", "features"):
            if getattr(options, option) is not None:
                raise OptionError(f"{opt(option)} requires {opt('long')}")
        return
    if options.learner not in _LEARNERS:
        raise OptionError(
            f"{opt('long')} does not go with the learner {options.learner}; it goes with "
            f"{listed_words(list(_LEARNERS))}"
        )
    useless = [o for o in _NOT_FOR_CELLS if getattr(options, o) not in (None, ())]
    useless += [o for o, words in _WORDS.items() if getattr(options, o) not in words]
    own = options.learner_options
    useless += [o for o in _LEARNERS[options.learner] if own.get(o) not in (None, 1, False)]
    if useless:
        raise OptionError(f"{opt(useless[0])} does not go with {opt('long')}")
