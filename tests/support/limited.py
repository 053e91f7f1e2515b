"""Other limits for everything inside a `with`: sessions carry one value, so it is given once.

Where a test makes its session or its call itself, it gives `limits=Limits(…)` to that instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from sqlbn.engines.limits import Limits
from sqlbn.engines.model_database import ModelDatabase


def limit(patch: pytest.MonkeyPatch, **fields: Any) -> None:
    """These fields of `Limits` in every session, also in those that are open."""
    Limits(**fields)  # an unknown name is an error here
    outer = ModelDatabase.limits
    made: dict[Limits, Limits] = {}

    def limits(session: ModelDatabase) -> Limits:
        given: Limits = outer.__get__(session)
        if given not in made:
            made[given] = replace(given, **fields)
        return made[given]

    patch.setattr(ModelDatabase, "limits", property(limits))


@contextmanager
def limited(**fields: Any) -> Iterator[None]:
    """The same inside a `with`."""
    with pytest.MonkeyPatch.context() as patch:
        limit(patch, **fields)
        yield
