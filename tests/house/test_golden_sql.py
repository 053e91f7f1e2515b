"""Golden SQL: every template in `sql/` with small fixed values, beside `golden/<template>.sql`.

`SQLBN_UPDATE_GOLDEN=1 pytest tests/house/test_golden_sql.py` writes the files anew; read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sparse_golden import SPARSE_CASES

from sqlbn.engines.sql import NAMES, render
from sqlbn.kinds.estimates import MEstimate

GOLDEN = Path(__file__).parents[1] / "golden"
UPDATE = os.environ.get("SQLBN_UPDATE_GOLDEN") == "1"
ROWS = "SELECT * FROM fruit"
PIECES = [{"sql": '"kind"', "alias": "p0"}, {"sql": "shuffle // 1024", "alias": "p1"}]
SCORED = "SELECT * FROM scored"
IDENTITY = [{"sql": "(__sqlbn_c0::UINTEGER)*4+__sqlbn_c1", "alias": "__sqlbn_i0"}]
TOP = "greatest(__sqlbn_s0, __sqlbn_s1)"
SAME = [{"any": "any_value(__sqlbn_i0)", "alias": "__sqlbn_i0"}]
AVERAGE = {"names": NAMES, "identity": SAME, "classes": range(2)}
CHAIN = {
    "table": '"model"."factor_3"',
    "key": "(c0::UINTEGER)*4+c1",
    "parents_key": "c1::UINTEGER",
    "axes": [
        {"code": "(key // 6 % 3)", "alias": "c0"},
        {"code": "(key // 2 % 3)", "alias": "c1"},
        {"code": "(key % 2)", "alias": "y"},
    ],
    "classes": range(2),
    "counts": '"model"."counts"',
    "position": 3,
    "estimate": MEstimate(1.0, 0.25),
    "present": [],
    "ignored": [],
}
SPARSE_TERM = {
    **{
        name: CHAIN[name]
        for name in ("key", "parents_key", "axes", "classes", "counts", "position")
    },
    "table": '"model"."factor_3"',
    "offset": "12::BIGINT",
    "weight": "0.5e0",
    "estimate": MEstimate(3.0, 1.0),
}
LOO = {
    "table": "loo_7",
    "y": "(key % 2)",
    "n_classes": 2,
    "counts": '"model"."counts"',
    "position": 3,
    "estimate": MEstimate(1.0, 0.25),
    "backs_off": True,
    "importance": False,
    "seen": "list_sum(n)",
    "value": None,
}

# title -> (template, values)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "counts of attribute 3 without its last parent": (
        "count/level_counts",
        {"key": "(key // 6 % 3)", "counts": '"model"."counts"', "position": 3},
    ),
    "rows of each class of a weighted column's values": (
        "encode/value_classes",
        {
            "total": "sum(w)",
            "labelled": 'SELECT i."x" AS value, i.y AS class, i.w AS w FROM t AS i',
        },
    ),
    "values of a column numbered": ("encode/numbered_values", {"counted": "counted_1"}),
    "categories in groups": (
        "encode/grouped_categories",
        {
            "categories": "SELECT 0 AS code, 'red' AS value, 3 AS n",
            "groups": "registered_1",
            "type": "VARCHAR",
        },
    ),
    "labels of groups": (
        "encode/group_labels",
        {
            "categories": '"model"."categories"',
            "attribute": "it's",
            "type": "BIGINT",
            "most": 4,
        },
    ),
    "cells of a model's margins": (
        "store/cells",
        {"counts": '"model"."margins"', "type": "BIGINT", "condition": "position < 3 AND n > 0"},
    ),
    "values that columns lack": (
        "store/gaps",
        {"table": '"model"."classes"', "columns": ["code", "class"]},
    ),
    "parents of an attribute that is not there": (
        "store/impossible_rows",
        {"table": '"model"."parents"', "condition": "t.parent NOT IN (SELECT attribute FROM a)"},
    ),
    "whether ranks count from 0 on": (
        "store/distinct_values",
        {"table": '"model"."attributes"', "column": "rank"},
    ),
    "axes with a wrong radix": (
        "store/wrong_radices",
        {
            "families": '"model"."families"',
            "attributes": '"model"."attributes"',
            "classes": '"model"."classes"',
        },
    ),
    "counts of no cell": (
        "store/lost_cells",
        {"families": '"model"."families"', "counts": '"model"."counts"'},
    ),
    "cuts that are no intervals": (
        "store/wrong_cuts",
        {"cuts": '"model"."cuts"', "attributes": '"model"."attributes"'},
    ),
    "codes without a category": (
        "store/lacking_categories",
        {"categories": '"model"."categories"', "attributes": '"model"."attributes"'},
    ),
    "intervals that some row is in": (
        "store/seen_codes",
        {"margins": '"model"."margins"', "positions": "0, 2", "classes": 3},
    ),
    "comment of a column": (
        "store/comment",
        {"kind": "COLUMN", "name": '"m"."fruit"."cuts"."code"', "text": "it's a number"},
    ),
    "name and version of a stored model": (
        "store/stored_meta",
        {"meta": '"m"."fruit"."meta"', "name": "it's", "version": 2},
    ),
    "categories that predict joins": (
        "store/predict_categories",
        {"categories": '"m"."fruit"."categories"'},
    ),
    "classes that predict joins": (
        "store/predict_classes",
        {"classes": '"m"."fruit"."classes"', "target": "it's"},
    ),
    "rows of predict": (
        "store/predict_rows",
        {
            "row": "__sqlbn_row",
            "rows": "__sqlbn_7_rows",
            "alias": "rows for the model fruit",
            "columns": ["colour", 'a"b'],
            "texts": ["colour"],
            "boolean": "this column is BOOLEAN here: ",
        },
    ),
    "predictions in the order of the rows": (
        "store/predict_query",
        {"row": "__sqlbn_row", "scored": "SELECT * FROM scored"},
    ),
    "the macro predict": (
        "store/predict_macro",
        {
            "macro": '"m"."fruit"."predict"',
            "columns": '"colour"',
            "needs": "the model 'fruit' needs the column ",
            "query": "SELECT * FROM __sqlbn_7_rows JOIN __sqlbn_7_tables.x USING (k)",
            "prefix": "__sqlbn_7_tables",
            "marker": "predict_marker_7",
            "schema": 'fr"uit__tables',
            "named_rows": "__sqlbn_7_rows",
            "plain_rows": "'query_table(' || tbl || ')'",
            "rows": "'read_csv(' || tbl || ')'",
        },
    ),
    "a macro that refuses": (
        "store/refusing_macro",
        {"macro": '"m"."fruit"."predict"', "refused": "it's too large"},
    ),
    "values of two types": (
        "store/all_joined_values",
        {"parts": ["SELECT * FROM texts", "SELECT * FROM numbers"]},
    ),
    "classes as values": ("store/classes_as_values", {"classes": '"model"."classes"'}),
    "counts of two parts": ("store/summed_counts", {"parts": '"model"."raw_1"'}),
    "counts without those of some rows": (
        "store/subtracted_counts",
        {"counts": '"model"."counts"', "others": '"rows"."counts"', "type": "BIGINT"},
    ),
    "history of a model": ("store/history", {"history": '"model"."history"'}),
    "probabilities of a network without a class": (
        "score/cpt_without_class",
        {"table": "SELECT * FROM cpt"},
    ),
    "values that two models group differently": ("store/other_groups", {"joined": "values_1"}),
    "several blocks in one pass": (
        "count/count_blocks",
        {
            "keys": "unnest([0::BIGINT + x0, 5::BIGINT + x1])",
            "total": "sum(w)",
            "weighted": True,
            "relation": "encoded_3",
        },
    ),
    "categories of counted values": ("encode/categories", {"counted": "counted_4"}),
    "values of a filtered column": (
        "encode/counted_values",
        {
            "value": 'TRY_CAST("colour" AS VARCHAR)',
            "total": "count(*)",
            "relation": "fruit",
            "where": 'WHERE ("spots" > 1)',
        },
    ),
    "counts of a level of back-off, missing values left out": (
        "score/chain_counts",
        {
            **{name: CHAIN[name] for name in ("key", "parents_key", "axes", "counts", "position")},
            "present": ["c0 <> 2", "c1 <> 3"],
        },
    ),
    "cells of an attribute with one parent": (
        "count/cells_by_class",
        {
            "codes": ["(key // 6 % 3)", "(key // 2 % 3)"],
            "y": "(key % 2)",
            "counts": '"m".counts',
            "position": 1,
        },
    ),
    "a table from arrays, two codes and two classes": (
        "score/keyed",
        {
            "table": '"m".predict_factor_3',
            "key": "(c0::UINTEGER)*3+c1",
            "columns": ["l_0", "l_1"],
            "relation": "arrays",
        },
    ),
    "an attribute with one parent, levels mixed": (
        "score/cpt",
        {
            "axes": [
                {
                    "code": "(key // 6 % 3)",
                    "name": "colour",
                    "attribute": "colour",
                    "table": '"m".categories',
                    "label": "value",
                    "gone": None,
                },
                {
                    "code": "(key // 2 % 3)",
                    "name": "size",
                    "attribute": "size",
                    "table": '"m".cuts',
                    "label": "label",
                    "gone": None,
                },
            ],
            "mixed": [
                {"level": 0, "sql": "(COALESCE(n0.n, 0) + 0.5) / (COALESCE(t0.n, 0) + 1.0)"},
                {"level": 1, "sql": "(COALESCE(n1.n, 0) + 4.0 * 0.5) / (COALESCE(t1.n, 0) + 4.0)"},
            ],
            "class_code": "(key % 2)",
            "position": 1,
            "counts": '"m".counts',
            "classes": '"m".classes',
            "estimate": MEstimate(1.0, 0.5),
        },
    ),
    "back-off by cell": ("score/chain_factor", {**CHAIN, "role": "cell"}),
    "back-off by parents": ("score/chain_factor", {**CHAIN, "role": "parents"}),
    "no back-off, missing values ignored": (
        "score/chain_factor",
        {**CHAIN, "role": "parents", "present": ["c0 <> 2", "c1 <> 3"], "ignored": [3]},
    ),
    "a block of two attributes and the class": (
        "count/count_block",
        {"key": "((x0::UINTEGER)*5+x1)*2+y", "total": "count(*)", "relation": "encoded"},
    ),
    "the spectrum of a weighted family": (
        "count/count_spectrum",
        {"key": "(x0::BIGINT)*70000+x1", "total": "sum(w)", "relation": "encoded"},
    ),
    "an attribute with one parent, both with odd names": (
        "score/cpt",
        {
            "axes": [
                {
                    "code": "(key // 6 % 3)",
                    "name": 'it\'s "it"',
                    "attribute": 'it\'s "it"',
                    "table": '"m".categories',
                    "label": "value",
                    "gone": 2,
                },
                {
                    "code": "(key // 2 % 3)",
                    "name": "class_",
                    "attribute": "class",
                    "table": '"m".cuts',
                    "label": "label",
                    "gone": None,
                },
            ],
            "mixed": [],
            "class_code": "(key % 2)",
            "position": 1,
            "counts": '"m".counts',
            "classes": '"m".classes',
            "estimate": MEstimate(1.0, 0.5),
        },
    ),
    "distinct values of one column": (
        "encode/distinct_count",
        {"value": '"id"', "relation": "fruit", "where": ""},
    ),
    "about how many distinct values two columns have": (
        "encode/distinct_estimates",
        {"values": ['"id"', "NULLIF(\"w\", 'nan')"], "relation": "fruit", "where": ""},
    ),
    "codes with a joined codebook and a weight": (
        "encode/encode",
        {
            "items": [
                {"code": 'i."kind"', "alias": "y"},
                {"code": "d0.code", "alias": "x0"},
                {"code": 'i."times"', "alias": "w"},
            ],
            "joins": ['LEFT JOIN categories AS d0 ON d0.value = i."colour"'],
            "relation": "fruit",
        },
    ),
    "leave-one-out ratios of values alone, classes rotated": (
        "loo/loo_sparse",
        {
            **LOO,
            "cell": "((key // 6 % 3)::UINTEGER)",
            "parents": "0",
            "lower_cell": "0",
            "lower": None,
            "backs_off": False,
            "slots": [{"name": "r_1", "at": "(y + 1) % 2"}],
        },
    ),
    "leave-one-out ratios of a value alone that is neutral where no other row has it": (
        "loo/loo_sparse",
        {
            **LOO,
            "cell": "((key // 6 % 3)::UINTEGER)",
            "parents": "0",
            "lower_cell": "0",
            "lower": None,
            "slots": [{"name": "r_1", "at": "(y + 1) % 2"}],
        },
    ),
    "leave-one-out ratios with one parent, classes as they are": (
        "loo/loo_sparse",
        {
            **LOO,
            "cell": "((key // 6 % 3)::UINTEGER)*3+(key // 2 % 3)",
            "parents": "((key // 2 % 3)::UINTEGER)",
            "lower_cell": "((key // 6 % 3)::UINTEGER)",
            "lower": "loo_6",
            "slots": [{"name": "r_0", "at": 0}, {"name": "r_1", "at": 1}],
        },
    ),
    "what leave-one-out ratios are made of, weights that are importances, back-off by parents": (
        "loo/loo_sparse",
        {
            **LOO,
            "cell": "((key // 6 % 3)::UINTEGER)*3+(key // 2 % 3)",
            "parents": "((key // 2 % 3)::UINTEGER)",
            "lower_cell": "((key // 6 % 3)::UINTEGER)",
            "lower": "loo_6",
            "slots": [{"name": "r_1", "estimate": "q_1", "at": "(y + 1) % 2"}],
            "importance": True,
            "seen": "least(list_sum(t), everywhere)",
            "value": "(key // 6 % 3)",
        },
    ),
    "the first batch of a leave-one-out pass": (
        "loo/loo_start",
        {
            "kept": ["e.y", "e.w"],
            "keys": [{"sql": "(e.x0::UINTEGER)*2+e.y", "alias": "k0"}],
            "ratios": [{"sql": "prior.r_1", "name": "r1"}],
            "relation": "encoded",
            "join": "JOIN loo_prior AS prior ON prior.key = e.y",
        },
    ),
    "leave-one-out in the long form, every prefix": (
        "loo/loo_long",
        {
            "kept": ["y", "w"],
            "row": "row",
            "rows": "(SELECT y, w, x0, x1, row_number() OVER () AS row FROM encoded)",
            "unfolded": "unnest([0::UINTEGER + ((x0::UINTEGER)*2+y), 6::UINTEGER + x1])",
            "table": "loo_long_3",
            "place": "place",
            "logs": [{"name": "l1", "sql": "t.l_1", "prior": "ln(prior.r_1)"}],
            "prior": "loo_prior",
        },
    ),
    "leave-one-out in the long form, all attributes": (
        "loo/loo_long",
        {
            "kept": ["y"],
            "row": "row",
            "rows": "(SELECT y, x0, row_number() OVER () AS row FROM encoded)",
            "unfolded": "unnest([0::UINTEGER + ((x0::UINTEGER)*2+y)])",
            "table": "loo_long_3",
            "place": None,
            "logs": [{"name": "l1", "sql": "t.l_1", "prior": "ln(prior.r_1)"}],
            "prior": "loo_prior",
        },
    ),
    "terms of the losses of left-out rows in the long form": (
        "loo/loo_long_terms",
        {
            "kept": ["y", "w", "place"],
            "place": None,
            "terms": [{"sql": "1 - own / (own + r1)", "name": "e"}],
            "own": "exp(-top)",
            "ratios": [{"sql": "exp(l1 - top)", "name": "r1"}],
            "top": "greatest(0e0, l1)",
            "summed": "FROM summed",
        },
    ),
    "two attributes of a leave-one-out pass": (
        "loo/loo_step",
        {
            "before": "SELECT * FROM started",
            "kept": ["y", "k2"],
            "carried": ["s.y", "s.k2"],
            "joins": [
                {"relation": "loo_4", "alias": "f0", "key": "k0"},
                {"relation": "read_parquet('loo_5.parquet')", "alias": "f1", "key": "k1"},
            ],
            "products": [
                {"sql": "s.r1 * f0.r_1", "name": "q0_1"},
                {"sql": "s.r1 * f0.r_1 * f1.r_1", "name": "q1_1"},
            ],
            "terms": [
                {"sql": "1 - 1 / (1 + q0_1)", "name": "e1"},
                {"sql": "1 - 1 / (1 + q1_1)", "name": "e2"},
                {"sql": "q1_1", "name": "r1"},
            ],
        },
    ),
    "two columns dealt by class": (
        "evaluate/deal",
        {
            "columns": ["kind", "two words"],
            "first": '"kind"',
            "place_name": "__sqlbn_place",
            "shuffle_name": "__sqlbn_shuffle",
            "row_name": "__sqlbn_row",
            "row_key": "rowid",
            "shuffle": "(rowid * 7 % 11)",
            "relation": "fruit",
            "where": "",
        },
    ),
    "two columns with what deals them by class": (
        "evaluate/deal",
        {
            "columns": ["kind"],
            "first": '"kind"',
            "place_name": None,
            "shuffle_name": "__sqlbn_shuffle",
            "row_name": "__sqlbn_row",
            "row_key": "row_key",
            "shuffle": "(row_key * 7 % 11)",
            "relation": "fruit",
            "where": "",
        },
    ),
    "rows of pieces of an order": ("data/counted_pieces", {"pieces": PIECES, "statement": ROWS}),
    "rows numbered piece by piece": (
        "data/numbered_rows",
        {
            "kept": "s.* EXCLUDE (p0, p1)",
            "pieces": PIECES,
            "order": ['"kind" NULLS LAST', "shuffle", "row"],
            "number": "__sqlbn_row_number",
            "statement": ROWS,
            "table": "pieces_3",
        },
    ),
    "losses of two classes": (
        "evaluate/losses",
        {
            "names": NAMES,
            "scored": SCORED,
            "top": TOP,
            "classes": range(2),
            "total": "__sqlbn_e0 + __sqlbn_e1",
            "squares": "__sqlbn_e0 * __sqlbn_e0 + __sqlbn_e1 * __sqlbn_e1",
            "tie": "1e-10",
        },
    ),
    "scored rows of two classes one by one": (
        "evaluate/single_rows",
        {
            "names": NAMES,
            "row": "__sqlbn_source_row",
            "scored": "scored_7",
            "top": TOP,
            "total": "exp(__sqlbn_s0 - __sqlbn_top) + exp(__sqlbn_s1 - __sqlbn_top)",
            "classes": ["'no'", "'yes'"],
            "tie": "1e-10",
        },
    ),
    "bias and variance of the predictions of a bench": (
        "lab/decomposition",
        {"rows": '"store_0"."main"."predictions"'},
    ),
    "scored rows of three classes with what their odds are made of": (
        "evaluate/labelled_odds",
        {
            "names": NAMES,
            "labelled": SCORED,
            "kept": "* EXCLUDE (__sqlbn_second)",
            "top": "greatest(__sqlbn_s0, __sqlbn_s1, __sqlbn_s2)",
            "others": " + ".join(
                f"CASE __sqlbn_best WHEN {j} THEN 0 ELSE exp(__sqlbn_s{j} - __sqlbn_second) END"
                for j in range(3)
            ),
            "classes": range(3),
        },
    ),
    "odds of the second of two classes, weights in quarters": (
        "evaluate/odds",
        {
            "names": NAMES,
            "odds": "__sqlbn_s1 - __sqlbn_s0",
            "code": 1,
            "n_classes": 2,
            "relation": "judged",
            "tie": "1e-10",
            "weight_unit": 4,
        },
    ),
    "rows in the order of their odds": (
        "evaluate/ranking",
        {
            "different": "odds",
            "tie": "1e-10",
            "precision_unit": "1152921504606846976e0",
        },
    ),
    "rows in the order of their odds, piece by piece": (
        "evaluate/ranking_pieces",
        {
            "different": "odds",
            "pieces": 16,
            "tie": "1e-10",
            "precision_unit": "1152921504606846976e0",
        },
    ),
    "probabilities of two classes": (
        "score/probabilities",
        {
            "names": NAMES,
            "scored": SCORED,
            "top": TOP,
            "kept": "* EXCLUDE (__sqlbn_c0, __sqlbn_s0, __sqlbn_s1, __sqlbn_top)",
            "classes": [
                {
                    "value": "'it''s'",
                    "column": '"p_it\'s"',
                    "weight": "exp(__sqlbn_s0 - __sqlbn_top)",
                },
                {"value": "'no'", "column": '"p_no"', "weight": "exp(__sqlbn_s1 - __sqlbn_top)"},
            ],
            "total": "__sqlbn_e0 + __sqlbn_e1",
            "tie": "1e-10",
            "target_type": "VARCHAR",
        },
    ),
    "rows and ranges of a text and a number": (
        "encode/profile",
        {
            "columns": [
                {"value": '"colour"', "single": "NULL", "spread": "NULL"},
                {"value": '"n"', "single": 'min("n") = max("n")', "spread": 'max("n") - min("n")'},
            ],
            "relation": "fruit",
            "where": "",
        },
    ),
    "a sample of one quantity": (
        "encode/sample",
        {
            "kept": "* EXCLUDE (shuffle, row_key)",
            "columns": [{"value": '"weight"', "alias": "v0"}],
            "weight": "1",
            "shuffle": "(rowid * 7 % 11)",
            "row_key": "rowid",
            "threshold": 5,
            "size": 100,
            "relation": "fruit",
            "where": "WHERE true",
        },
    ),
    "the codes of one joined attribute": (
        "encode/codes",
        {
            "items": "i.*",
            "codes": [{"code": "d0.code", "alias": "__sqlbn_c0"}],
            "relation": "fruit",
            "joins": ['LEFT JOIN categories AS d0 ON d0.value = i."colour"'],
        },
    ),
    "numbers of two columns of weighted rows": (
        "encode/numbers",
        {
            "columns": [
                {"value": 'TRY_CAST("size" AS DOUBLE)', "alias": "v0"},
                {"value": 'TRY_CAST("two words" AS DOUBLE)', "alias": "v1"},
            ],
            "weight": '"w"',
            "relation": "fruit",
            "where": 'WHERE ("spots" > 1)',
        },
    ),
    "the values of two columns of a type in one pass": (
        "encode/counted_columns",
        {
            "cells": "unnest([{'place': 0, 'value': a}, {'place': 1, 'value': b}])",
            "weight": "w",
            "relation": "fruit",
            "where": "WHERE (y IS NOT NULL)",
        },
    ),
    "values of two columns": (
        "encode/values",
        {
            "values": [
                {"sql": 'TRY_CAST(i."size" AS DOUBLE)', "alias": "__sqlbn_v0"},
                {"sql": 'TRY_CAST(i."colour" AS VARCHAR)', "alias": "__sqlbn_v1"},
            ],
            "relation": "fruit",
        },
    ),
    "a prior and two factors in one table, two classes, and the key of a chain": (
        "score/long",
        {
            "names": NAMES,
            "row": "__sqlbn_source_row",
            "coded": "SELECT * FROM coded",
            "kept": "* EXCLUDE (__sqlbn_c0, __sqlbn_c1)",
            "others": [{"sql": "(__sqlbn_c0::UINTEGER)*4+__sqlbn_c1", "alias": "__sqlbn_k3"}],
            "keys": [
                "0::UINTEGER",
                "1::UINTEGER + __sqlbn_c0::UINTEGER",
                "4::UINTEGER + __sqlbn_c1::UINTEGER",
            ],
            "table": '"model"."predict_long"',
            "classes": range(2),
            "mean": None,
        },
    ),
    "the mean of two members that have a factor each": (
        "score/long",
        {
            "names": NAMES,
            "row": "__sqlbn_source_row",
            "coded": "SELECT * FROM coded",
            "kept": "* EXCLUDE (__sqlbn_c0, __sqlbn_c1)",
            "others": [],
            "keys": [
                "0::UINTEGER",
                "1::UINTEGER",
                "2::UINTEGER + __sqlbn_c0::UINTEGER",
                "5::UINTEGER + __sqlbn_c1::UINTEGER",
            ],
            "table": '"model"."predict_long"',
            "classes": range(2),
            "mean": {
                "members": 2,
                "top": TOP,
                "weights": [f"exp(__sqlbn_s{j} - __sqlbn_top)" for j in range(2)],
                "total": "__sqlbn_e0 + __sqlbn_e1",
                "least": "1e-300",
            },
        },
    ),
    "the prior, a table, and a deeper level of it with a discount": (
        "store/long_table",
        {
            "key_type": "UINTEGER",
            "priors": [{"key": 0, "logs": ["-0.5e0", "-0.9e0"]}],
            "factors": [
                {
                    "start": 1,
                    "member": 0,
                    "table": '"m__tables"."predict_factor_0"',
                    "above": None,
                    "discount": None,
                },
                {
                    "start": 13,
                    "member": 0,
                    "table": '"m__tables"."predict_factor_1"',
                    "above": '"m__tables"."predict_factor_0"',
                    "last": 5,
                    "discount": '"m__tables"."predict_factor_2"',
                    "parents": 20,
                },
            ],
            "classes": range(2),
        },
    ),
    "tables of two members": (
        "store/long_table",
        {
            "key_type": "UINTEGER",
            "priors": [],
            "factors": [
                {
                    "start": 2,
                    "member": 0,
                    "table": '"m__tables"."predict_factor_0"',
                    "above": None,
                    "discount": None,
                },
                {
                    "start": 14,
                    "member": 1,
                    "table": '"m__tables"."predict_factor_2"',
                    "above": None,
                    "discount": None,
                },
            ],
            "classes": range(2),
        },
    ),
    "one key and the scores to start from": (
        "score/keys",
        {
            "names": NAMES,
            "kept": "* EXCLUDE (__sqlbn_c0, __sqlbn_c1)",
            "keys": [{"sql": "(__sqlbn_c0::UINTEGER)*4+__sqlbn_c1", "alias": "__sqlbn_k0"}],
            "starts": ["-0.5e0", "-0.9e0"],
            "coded": "SELECT * FROM coded",
        },
    ),
    "the second member of an ensemble, two classes": (
        "score/member",
        {
            "names": NAMES,
            "kept": "* EXCLUDE (__sqlbn_s0, __sqlbn_s1, __sqlbn_m0, __sqlbn_m1)",
            "sums": [f"__sqlbn_m{j} + __sqlbn_e{j} / __sqlbn_total" for j in range(2)],
            "total": "__sqlbn_e0 + __sqlbn_e1",
            "weights": [f"exp(__sqlbn_s{j} - __sqlbn_top)" for j in range(2)],
            "top": TOP,
            "scored": SCORED,
            "fence": "OFFSET 0",
        },
    ),
    "the geometric mean of three members, two classes": (
        "score/mean",
        {
            "names": NAMES,
            "kept": "* EXCLUDE (__sqlbn_m0, __sqlbn_m1)",
            "scores": [f"__sqlbn_m{j} / 3" for j in range(2)],
            "summed": "SELECT * FROM summed",
        },
    ),
    "rows of two classes, scored once where they are equal": (
        "score/rejoined",
        {
            "names": NAMES,
            "identity": IDENTITY,
            "coded": "SELECT * FROM coded",
            "scored": SCORED,
            "scores": ["__sqlbn_s0", "__sqlbn_s1"],
            "kept": "r.* EXCLUDE (__sqlbn_c0, __sqlbn_c1, __sqlbn_i0)",
        },
    ),
    "two classes and the sums of their super parents": (
        "score/average",
        {
            **AVERAGE,
            "sums": "SELECT * FROM sums",
            "tops": [
                "max(__sqlbn_rank, 2) AS ranks",
                *(f"arg_max(z{j}, __sqlbn_rank, 2) AS z{j}" for j in range(2)),
            ],
            "logs": [
                f"ln(greatest(z{j}[1] + COALESCE(z{j}[2] * exp((ranks[2] - ranks[1]) * 512e0), 0), "
                "1e-300))"
                for j in range(2)
            ],
        },
    ),
    "sums of two classes over super parents": (
        "score/average_sums",
        {
            **AVERAGE,
            "top": TOP,
            "powers": [f"exp(__sqlbn_s{j} - __sqlbn_step * 512e0)" for j in range(2)],
            "step": "512e0",
            "level_step": 1 << 32,
            "terms": "SELECT * FROM terms",
        },
    ),
    "rows in which attribute 0 may imply attribute 1": (
        "score/distinct_rows",
        {
            "names": NAMES,
            "identity": IDENTITY,
            "codes": [
                {"sql": "s.__sqlbn_c0", "alias": "__sqlbn_c0"},
                {
                    "sql": "CASE WHEN t0.i_1 = s.__sqlbn_c1 THEN 4 ELSE s.__sqlbn_c1 END",
                    "alias": "__sqlbn_c1",
                },
            ],
            "row": "row_number() OVER ()",
            "distinct": ["__sqlbn_c0", "__sqlbn_c1"],
            "coded": "SELECT * FROM coded",
            "joins": [
                {
                    "kind": "JOIN",
                    "table": "m.predict_implied_0",
                    "alias": "t0",
                    "code": "__sqlbn_c0",
                }
            ],
        },
    ),
    "two attributes and naive Bayes as super parents": (
        "score/unfold",
        {
            "names": NAMES,
            "carried": ["__sqlbn_i0"],
            "items": [
                {"sql": "p.level", "alias": "__sqlbn_level"},
                {"sql": "(p.number::UINTEGER)*4+k.__sqlbn_p0", "alias": "__sqlbn_k0"},
                {"sql": "p.l_0", "alias": "__sqlbn_s0"},
            ],
            "packed": [
                {"sql": "__sqlbn_c1::UINTEGER", "alias": "__sqlbn_p0"},
                {
                    "sql": "[0 + (__sqlbn_c0), 3 + (__sqlbn_c1), 7 + (0)]",
                    "alias": "__sqlbn_base",
                },
            ],
            "turns": "range(1, 4) AS t(__sqlbn_turn)",
            "start": "k.__sqlbn_base[k.__sqlbn_turn]",
            "coded": "SELECT * FROM coded",
            "table": "m.predict_super",
        },
    ),
    "the terms of a collection added up by attribute": (
        "score/added_up",
        {
            "by": ["__sqlbn_row", "__sqlbn_child"],
            "carried": SAME,
            "sums": [{"sql": f"sum(__sqlbn_s{j})", "alias": f"__sqlbn_s{j}"} for j in range(2)],
            "terms": "SELECT * FROM terms",
        },
    ),
    "seen cells of a sparse term, missing values ignored": (
        "score/collection_sparse",
        {**SPARSE_TERM, "role": "cell", "present": ["c0 <> 2", "c1 <> 3"]},
    ),
    "seen parents of a sparse term": (
        "score/collection_sparse",
        {**SPARSE_TERM, "role": "parents", "present": []},
    ),
    "training rows of two classes, two attributes, weighted": (
        "loo/rows_by_class",
        {
            "names": NAMES,
            "codes": [{"sql": f"x{v}", "alias": f"__sqlbn_c{v}"} for v in range(2)],
            "classes": range(2),
            "total": "sum(w)",
            "relation": "encoded",
        },
    ),
    "the probability of training rows of two classes": (
        "loo/superparent_search",
        {"names": NAMES, "classes": range(2), "scored": SCORED, "rows": "rows_8"},
    ),
    "a chunk of rows in which attribute 0 may imply attribute 1": (
        "loo/average_loo_rows",
        {
            "row": "e.rowid",
            "columns": ["y", "x0", "x1"],
            "gone": [
                {"sql": "CASE WHEN t0.i_1 = e.x1 THEN 1 ELSE 3 END::USMALLINT", "alias": "g1"}
            ],
            "relation": "encoded",
            "joins": [{"table": "loo_9", "alias": "t0", "key": "(e.x0::UINTEGER)*2+e.y"}],
            "first": 0,
            "stop": 100,
        },
    ),
    "left-out rows and their super parents, with a shift and dropped values": (
        "loo/average_loo_start",
        {
            "kept": ["k.r", "k.y", "k.g1"],
            "carried": ["r", "y", "x0", "x1", "g1"],
            "keys": [{"sql": "(p.number::UINTEGER)*3+k.x0", "alias": "k0"}],
            "level": "p.level",
            "above": None,
            "scores": [{"sql": "p.l_0", "name": "s0"}, {"sql": "p.l_1", "name": "s1"}],
            "shifts": ["m0", "m1"],
            "supers": "[(0 + x0) * 2 + y, (3 + x1) * 2 + y, (6 + 0) * 2 + y]",
            "base": "k.base[t.turn]",
            "turns": "range(1, 4) AS t(turn)",
            "gone": "[least(3), least(3, g1), least(3)]",
            "gone_at": "k.gone[t.turn]",
            "rows": "SELECT * FROM rows",
            "table": "loo_3",
            "maxima": "loo_maxima_4",
            "n_levels": 2,
        },
    ),
    "the squared error before and after an attribute": (
        "loo/average_loo_sums",
        {
            "kept": ["y"],
            "terms": [
                {"name": f"e{p}", "sql": f"1 - o{p} / (o{p} + x{p})", "known": f"o{p} + x{p}"}
                for p in range(2)
            ],
            "levels": [1, 0],
            "sums": ["o0", "x0", "o1", "x1"],
            "terms_sql": "SELECT * FROM terms",
        },
    ),
    "a table and a chain added to the scores of two classes": (
        "score/score_batch",
        {
            "names": NAMES,
            "kept": "s.* EXCLUDE (__sqlbn_k0, __sqlbn_k1, __sqlbn_s0, __sqlbn_s1)",
            "sums": [f"s.__sqlbn_s{j} + COALESCE(f1.l_{j}, f0.l_{j})" for j in range(2)],
            "scored": SCORED,
            "joins": [
                {"kind": "JOIN", "table": "m.factor_0", "alias": "f0", "key": "__sqlbn_k0"},
                {"kind": "LEFT JOIN", "table": "m.factor_1", "alias": "f1", "key": "__sqlbn_k1"},
            ],
        },
    ),
    "values of a quantity with their weight": (
        "encode/value_totals",
        {
            "value": '"weight"',
            "is_nan": "isnan(even(value))",
            "weight": '"times"',
            "relation": "fruit",
            "where": "",
        },
    ),
    "a column of weights": (
        "encode/weights_check",
        {
            "weight": '"times"',
            "is_nan": "isnan(even(w))",
            "is_infinite": "isinf(w)",
            "relation": "fruit",
            "where": "",
        },
    ),
    "rows of codes with their weights": (
        "loo/distinct_training_rows",
        {
            "columns": ["x0", "x1", "y"],
            "total": "w::DOUBLE",
            "relation": "encoded_3",
            "grouped": False,
        },
    ),
    "many rows of codes, equal ones put together": (
        "loo/distinct_training_rows",
        {
            "columns": ["x0", "x1", "y"],
            "total": "(count(*))::DOUBLE",
            "relation": "encoded_3",
            "grouped": True,
        },
    ),
    "counts of a stored family, whatever the class": (
        "count/stored_spectrum",
        {"counts": "margins", "position": 3, "divisor": 7},
    ),
    "categories of a model without those of some rows": (
        "store/joined_values",
        {
            "type": "BIGINT",
            "attributes": "'age', 'it''s'",
            "first": "old.categories",
            "second": "gone.categories",
            "sign": -1,
        },
    ),
    "rows of every value, parent and class that occur": (
        "encode/counted_codes",
        {
            "names": NAMES,
            "codes": [
                {"column": "x0", "alias": "__sqlbn_c0"},
                {"column": "x3", "alias": "__sqlbn_c3"},
            ],
            "relation": "encoded_3",
        },
    ),
    "a Delta table by day, some of its rows deleted": (
        "data/lake_table",
        {
            "items": [
                {"name": 'wei"ght', "value": "c0"},
                {
                    "name": "day",
                    "value": "CAST(['2024-02-29'] AS DATE[])[(file_index + 1)::BIGINT]",
                },
            ],
            "row_key": "(file_index::UBIGINT * 1099511627776 + file_row_number)",
            "row": "__sqlbn_source_row",
            "scan": "read_parquet(['a.parquet'])",
            "gone": "sqlbn_deleted_1",
        },
    ),
    "rows of every log score of their own class": (
        "evaluate/score_spectrum",
        {"names": NAMES, "own": "[__sqlbn_s0, __sqlbn_s1][__sqlbn_y + 1]", "scored": SCORED},
    ),
    "rows without the impossible cells of two families": (
        "evaluate/possible_rows",
        {
            "relation": "encoded_3",
            "families": [
                {"table": "impossible_4", "alias": "b0", "key": "(x0::UINTEGER)*3+x1"},
                {"table": "impossible_5", "alias": "b1", "key": "x2::UINTEGER"},
            ],
        },
    ),
    "counted cells, for the table of counts": (
        "count/placed_counts",
        {"position": 3, "counted": "registered_1"},
    ),
    "arrays of counts, for the table of counts": ("count/arrays", {"arrays": "registered_1"}),
    "stored counts of two attributes": (
        "count/stored_counts",
        {"counts": '"model"."counts"', "positions": [3, 4]},
    ),
    "stored counts of no attribute": (
        "count/stored_counts",
        {"counts": '"model"."counts"', "positions": []},
    ),
    "counts of two attributes stay as they are": (
        "count/kept_counts",
        {"counts": '"model"."counts_deep"', "positions": [3, 4]},
    ),
    "seen cells of a set": (
        "count/seen_cells",
        {"counts": '"model"."counts"', "position": 3, "n_classes": 2},
    ),
    "counts of two sets stay": (
        "count/drop_others",
        {"counts": '"model"."counts"', "positions": [3, 4]},
    ),
    "counts of sets under other numbers": (
        "count/moved_counts",
        {"counts": '"model"."counts"', "places": '"model"."counts_moved"'},
    ),
    "rows of attributes": (
        "encode/named_rows",
        {
            "named": [
                ("it's", "SELECT 0 AS code, 'red' AS value, 3 AS n"),
                ("size", "SELECT 0 AS code, '1' AS value, 3 AS n"),
            ]
        },
    ),
    "how many categories attributes have": (
        "encode/category_numbers",
        {"categories": '"model"."categories"'},
    ),
    "groups that a model has": (
        "encode/known_groups",
        {"categories": '"model"."categories"', "attribute": "it's"},
    ),
    "rows of every value": ("encode/totals", {"counted": "counted_1"}),
    "how many values were counted": ("encode/distinct_values", {"counted": "counted_1"}),
    "categories in the order of their codes": (
        "encode/present_values",
        {"categories": "SELECT 0 AS code, 'red' AS value, 3 AS n"},
    ),
    "cells of rows between three cuts": (
        "encode/cells",
        {
            "labelled": 'SELECT i."x" AS value, i.y AS class FROM t AS i',
            "cuts": "cuts_1",
            "steps": [{"size": n, "bound": f"cuts[(place + {n})]"} for n in (1, 2)],
            "located": "* EXCLUDE (place)",
            "kept": "* EXCLUDE (value, cuts, place)",
        },
    ),
    "rows of a range of shuffled numbers": (
        "data/shuffled_range",
        {
            "columns": "x0, x1, y",
            "shuffle": "hash(rowid, 0) % 4294967296",
            "row_key": "rowid",
            "relation": "encoded_3",
            "low": 0,
            "high": 1024,
        },
    ),
    "cells of a pair that were seen": (
        "count/observed_cells",
        {"codes": "x0, x1, y", "total": "count(*)", "relation": "encoded_3"},
    ),
    "a view of predictions": (
        "script/view",
        {"view": '"fruit_scores"', "query": "SELECT 1 AS prediction"},
    ),
    "a table of a script": (
        "script/table",
        {"table": '"fruit_factor_0"', "columns": '"key" BIGINT, "l_0" DOUBLE', "end": ""},
    ),
    "an INSERT of a script": (
        "script/insert",
        {
            "table": '"fruit_factor_0"',
            "columns": '"key", "l_0"',
            "rows": ["(0, -1.5)", "(1, -0.5)"],
        },
    ),
    "the encoding pass as a table": (
        "encode/create_encoded",
        {"rows": 'SELECT i."x" AS x0 FROM fruit AS i'},
    ),
    **SPARSE_CASES,
}


def rendered(template: str) -> str:
    """All cases of a template, each under its title."""
    return "\n".join(
        f"-- {title}\n{render(name, **values)};\n"
        for title, (name, values) in CASES.items()
        if name == template
    )


@pytest.mark.parametrize("template", sorted({name for name, _ in CASES.values()}))
def test_golden_sql(template: str) -> None:
    path = GOLDEN / f"{template}.sql"
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rendered(template), encoding="utf-8")
    assert rendered(template) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("title", CASES)
def test_it_is_one_statement(title: str) -> None:
    name, values = CASES[title]
    assert len(duckdb.extract_statements(render(name, **values))) == 1


def test_every_template_has_a_golden_file_and_no_file_is_left_over(root: Path) -> None:
    def named(folder: Path) -> set[str]:
        files = (path.relative_to(folder) for path in folder.rglob("*.sql"))
        return {path.with_suffix("").as_posix() for path in files}

    templates = named(root / "sql")
    assert templates == {name for name, _ in CASES.values()}
    assert templates == {name for name in named(GOLDEN) if not name.startswith("export/")}


def test_every_template_says_what_it_is_for(root: Path) -> None:
    for path in (root / "sql").rglob("*.sql"):
        assert path.read_text(encoding="utf-8").startswith("{# "), path.name
