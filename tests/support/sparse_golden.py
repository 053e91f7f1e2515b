"""The templates of `sql/sparse` with small fixed values, for `tests/house/test_golden_sql.py`."""

from __future__ import annotations

from typing import Any

from sqlbn.engines.sql import NAMES

CELLS = "SELECT r, f, v FROM cells"
STARTS = ["-1.5e0", "-0.5e0"]
TEXT = "x.value = c.v"
SCORES = {
    "names": NAMES,
    "starts": STARTS,
    "cells": CELLS,
    "features": '"model"."predict_features"',
    "parts": '"model"."predict_values"',
    "depth": 1,
    "together": '"model"."predict_together"',
    "unseen": 4294967295,
}

SPARSE_CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "cells with values": (
        "sparse/cells",
        {
            "row": '"doc"',
            "feature": 'CAST(i."word" AS VARCHAR)',
            "value": 'CAST(i."what" AS VARCHAR)',
            "conditions": ["CAST(i.\"word\" AS VARCHAR) <> 'sort'", 'i."what" IS NOT NULL'],
            "keeps_rows": False,
            "relation": "words",
        },
    ),
    "cells to score, without values": (
        "sparse/cells",
        {
            "row": '"doc"',
            "feature": 'CAST(i."word" AS VARCHAR)',
            "value": None,
            "conditions": ["CAST(i.\"word\" AS VARCHAR) <> 'sort'"],
            "keeps_rows": True,
            "relation": "words",
        },
    ),
    "projected cells with numbers": ("sparse/merged", {"cells": CELLS, "is_number": True}),
    "projected cells": ("sparse/merged", {"cells": CELLS, "is_number": False}),
    "rows that are wanted": ("sparse/wanted", {"row": '"doc"', "relation": "labels"}),
    "numbered rows": (
        "sparse/rows",
        {
            "row": '"doc"',
            "code": "CASE i.\"sort\" WHEN 'a' THEN 0 ELSE 1 END",
            "relation": "labels",
            "join": "",
            "n_classes": 1,
        },
    ),
    "cells of labelled rows": (
        "sparse/labelled_cells",
        {"cells": CELLS, "rows": "rows_1", "has_value": True},
    ),
    "cells of rows without a class": (
        "sparse/ignored_cells",
        {"cells": "words", "rows": "rows_1", "row": '"doc"'},
    ),
    "features in order": ("sparse/feature_names", {"cells": CELLS}),
    "cells by place": (
        "sparse/placed_cells",
        {"cells": CELLS, "names": "feature_names", "has_value": False},
    ),
    "cells that are there twice": (
        "sparse/repeated",
        {"first": '"doc"', "second": '"word"', "relation": "words"},
    ),
    "totals of values": ("sparse/value_totals", {"cells": "cells_2"}),
    "values that are text": ("sparse/text_values", {"totals": "totals_3"}),
    "parts of numbers": (
        "sparse/number_values",
        {"totals": "totals_3", "bins": 5, "is_few": "false", "known": None},
    ),
    "parts of numbers of a known model": (
        "sparse/number_values",
        {
            "totals": "totals_3",
            "bins": 5,
            "is_few": "count(*) OVER (PARTITION BY place) <= 32",
            "known": "(SELECT place, upper FROM known)",
        },
    ),
    "counts of values": (
        "sparse/value_counts",
        {"totals": "totals_3", "values": "feature_values", "match": TEXT},
    ),
    "numbers of values": ("sparse/numbers_of_values", {"counts": "feature_counts"}),
    "what is stored of features": (
        "sparse/features",
        {"names": "feature_names", "about": "features_4", "values": "feature_values"},
    ),
    "features of prediction": (
        "sparse/predict_features",
        {"features": "features", "changes": "registered_5"},
    ),
    "values of prediction": (
        "sparse/predict_values",
        {"values": "feature_values", "changes": "registered_5"},
    ),
    "scores of rows": ("sparse/scores", {**SCORES, "match": TEXT, "tells_unseen": True}),
    "scores of rows whose cells have no value": (
        "sparse/scores",
        {**SCORES, "match": None, "tells_unseen": False},
    ),
    "scores of rows with features that depend on others": (
        "sparse/scores",
        {**SCORES, "match": TEXT, "tells_unseen": True, "depth": 3},
    ),
    "cells of some features": (
        "sparse/coded_cells",
        {"cells": "cells_2", "chosen": "chosen_7", "values": "feature_values", "match": TEXT},
    ),
    "number of cells": ("sparse/number_of_cells", {"cells": "cells_2"}),
    "pairs of cells in rows": ("sparse/pair_load", {"cells": "cells_2", "chosen": "chosen_7"}),
    "counts of pairs": ("sparse/pair_counts", {"cells": "coded_8", "first": 0, "last": 1000}),
    "counts of sets": (
        "sparse/set_counts",
        {"sets": "sets_9", "cells": "coded_8", "others": range(1, 3)},
    ),
    "classes and scores of rows": (
        "sparse/labelled",
        {"names": NAMES, "starts": STARTS, "rows": "rows_1", "scores": "SELECT * FROM scored"},
    ),
    "scores of rows that are wanted": (
        "sparse/wanted_scores",
        {
            "names": NAMES,
            "starts": STARTS,
            "wanted": "SELECT r FROM labels",
            "scores": "SELECT * FROM scored",
        },
    ),
    "scores under the name of the row ids": (
        "sparse/named_rows",
        {"row": '"doc"', "scores": "__sqlbn_s0", "scored": "SELECT * FROM scored"},
    ),
    "values of a known model": (
        "sparse/known_values",
        {"names": "feature_names", "known": "SELECT feature, upper FROM known"},
    ),
    "values of a model by name": (
        "sparse/model_values",
        {"values": "feature_values", "features": "features"},
    ),
    "counts by name": (
        "sparse/named_counts",
        {
            "sign": -1,
            "counts": "feature_counts",
            "features": "features",
            "classes": "classes",
            "values": "feature_values",
        },
    ),
    "counts of parts": ("sparse/summed_counts", {"parts": ["SELECT * FROM a", "SELECT * FROM b"]}),
    "classes of parts": (
        "sparse/summed_classes",
        {
            "parts": [{"sign": 1, "classes": "a"}, {"sign": -1, "classes": "b"}],
            "type": "VARCHAR",
        },
    ),
    "values of parts": (
        "sparse/joined_values",
        {
            "names": "feature_names",
            "known": "SELECT * FROM known",
            "summed": "summed_6",
            "order": "found.upper, found.value",
        },
    ),
    "counts of parts by number": (
        "sparse/joined_counts",
        {
            "summed": "summed_6",
            "names": "feature_names",
            "classes": "classes",
            "values": "feature_values",
            "has_values": True,
        },
    ),
    "cuts that differ": (
        "sparse/other_cuts",
        {"one": "SELECT * FROM a", "other": "SELECT * FROM b"},
    ),
}
