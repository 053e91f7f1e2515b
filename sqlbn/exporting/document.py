"""A model as one JSON document: all that a program needs to score rows, without a database.

`format` is "sqlbn-model", `version` 3. A row becomes codes, codes become log scores, one a class,
and the probabilities are exp(score) / sum(exp(scores)); scores within `tie` of the highest go to
the first of them.

`attributes` (those in use): `position`, `name`, `type` (DuckDB's), `kind`, and three codes:
`missing` for NULL and NaN, `unseen` for what training did not have, `slots` is how many there are.
"numeric": `cuts` in ascending order; the code of x is the number of cuts below x, but `unseen`
where that is among the `empty`. Dates and moments are microseconds since 1970, times of day since
midnight. "categorical": `categories` gives the code of a value as DuckDB writes it as text.

Tables are `{"columns": […], "rows": […]}`. A key packs codes: key = 0; for each of `attributes`:
key = key * radix + code. `l_0, l_1, …` are a table's columns of classes.

`kind` says what `scores` holds:
- "product": start from each class's `log_prior`; from every one of `chains` add the row of the
  first table that has the key; a table before it with `adds` that has its key is added, too, and
  does not end the search. A table with `silent` has none where the code of that attribute is
  among `codes`.
- "ensemble": each of `members` has `chains` and so scores, as a product has. `mean` "geometric":
  the scores are their means; "arithmetic": the logarithms of the means of the probabilities that
  each member's scores give.
- "average": `implied` first: where the code of `attribute` has a row, codes that equal those in
  its columns `i_<position>` become `radices[position] - 1` (all by the codes before). Each of
  `turns` looks up offset + key of its attributes in `super`; those of the highest level found
  count. A turn's scores are its `l_j` plus, for every one of `tables`, the row at number *
  (product of radices) + key; where a `sparse` table has none, `b_j + ln(share)`, or 0 where the
  code is not below `counting[position]`. The score is the logarithm of the sum of the exponentials.
- "collection": each of `turns` looks up offset + code of its `attribute` in `start`, and sums
  `l_j` plus, for every one of `tables`, the row at number * size + key of the block's attributes
  at `repeat`. A turn with `sparse` has the row of `cells`, or of `parents`, or `unseen`, and
  nothing where a code is silent. Sums of one `child` are added up; their logarithms are added to
  `log_prior` (0 where `guarded` and the sum is 0).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlbn import __version__
from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.workspace import Workspace
from sqlbn.exporting.script import listed_categories
from sqlbn.kinds.losses import TIE
from sqlbn.store.spec import ModelSpec

VERSION = 3


def document_pieces(workspace: Workspace, spec: ModelSpec) -> Iterator[str]:
    """The JSON text, in pieces."""
    yield from json.JSONEncoder(ensure_ascii=False, allow_nan=False).iterencode(
        document(workspace, spec)
    )
    yield "\n"


def document(workspace: Workspace, spec: ModelSpec) -> dict[str, Any]:
    """The model as lists and dictionaries."""
    spec.require_class()
    scorer = spec.scorer(workspace.prefix)
    return {
        "format": "sqlbn-model",
        "version": VERSION,
        "sqlbn": __version__,
        "learner": spec.meta["learner"],
        "target": {"name": spec.target.name, "type": spec.target.sql_type},
        "tie": TIE,
        "classes": [
            {"value": value, "column": column, "log_prior": prior}
            for value, column, prior in zip(
                spec.class_names, spec.probability_columns, scorer.log_prior, strict=True
            )
        ],
        "attributes": [_attribute(workspace, v, scorer.books[v]) for v in scorer.used],
        "kind": scorer.scoring.name,
        "scores": scorer.scoring.document(workspace, scorer),
    }


def _attribute(workspace: Workspace, position: int, book: Codebook) -> dict[str, Any]:
    found: dict[str, Any] = {
        "position": position,
        "name": book.column,
        "type": book.sql_type,
        "kind": book.kind,
        "missing": book.missing if book.missing is not None else book.unseen,
        "unseen": book.unseen,
        "slots": book.slots,
    }
    if book.kind == "numeric":
        # Where training had no value at all, no interval was seen.
        found["cuts"] = list(book.cuts) if book.missing != 0 else None
        found["empty"] = list(book.empty)
        return found
    return {**found, "categories": dict(listed_categories(workspace, book.name))}
