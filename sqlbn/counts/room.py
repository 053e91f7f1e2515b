"""Whether counts fit on the disk: asked before they are made."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from sqlbn.counts.cover import Family
from sqlbn.counts.subsets import readable_bytes, subset_cost
from sqlbn.draft import Draft
from sqlbn.encode.encoded import Encoded
from sqlbn.errors import OptionError, opt


def affordable(draft: Draft, encoded: Encoded, subsets: Sequence[Family], remedy: str) -> None:
    """An error where the counts of these sets would not fit, with what to do about it."""
    cost, room = subset_cost(encoded, subsets), _disk_room(draft)
    if cost.n_bytes > room:
        raise OptionError(
            f"{cost}, but {readable_bytes(room)} of disk may be used: {remedy}, "
            f"or raise {opt('disk_limit')}"
        )


def _disk_room(draft: Draft) -> int:
    """Bytes that may be written to the scratch folder."""
    limit = draft.engine.settings.disk_bytes
    return limit if limit is not None else shutil.disk_usage(draft.engine.scratch.folder).free
