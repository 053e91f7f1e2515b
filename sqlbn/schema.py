"""Every stored table, once: its columns, their types, and the comments that a store carries.

Tables are created and checked by what is said here, and the reference page is printed from it. What
the rows mean to a program is known to the table's writer and reader alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

# Rows are counted in whole numbers, or in sums of weights.
COUNT = "BIGINT or DOUBLE"
# Keys are packed codes: as wide as the number of cells asks for.
KEY = "UINTEGER or BIGINT or HUGEINT"
_WIDE = "BIGINT or HUGEINT"
_PLACE = "USMALLINT or UINTEGER"
# Ends a name that stands for several: one column per class, one table per attribute or factor.
_ANY = "*"


@dataclass(frozen=True)
class Column:
    """A column: `type` has every type that it may be of, the usual one first.

    `nullable` where a value may be lacking. What is not `checked` when a model is opened is there
    for people, or is lacking in early stores.
    """

    name: str
    type: str
    comment: str
    nullable: bool = False
    checked: bool = True

    @property
    def types(self) -> tuple[str, ...]:
        """The types that it may be of."""
        return tuple(self.type.split(" or "))

    @property
    def repeats(self) -> bool:
        """Whether it stands for one column per class (or attribute)."""
        return self.name.endswith(_ANY)


Form = Literal["table", "view"]


@dataclass(frozen=True)
class Table:
    """A table, or several of one pattern: `predict_factor_*`.

    `writers` says which models have it; without a `required` one a model cannot be opened. A
    `helper` lies in the schema `<model>__tables`, which only programs read; what is `derived` is
    made from other tables when a model is stored, and not read again.
    """

    name: str
    comment: str
    columns: tuple[Column, ...]
    writers: str = "every model"
    required: bool = False
    helper: bool = False
    derived: bool = False
    form: Form = "table"

    def column(self, name: str) -> Column | None:
        """What is said of a column; None where nothing is."""
        fixed = next((c for c in self.columns if c.name == name), None)
        return fixed or next(
            (c for c in self.columns if c.repeats and name.startswith(c.name[:-1])), None
        )


_ATTRIBUTE = Column("attribute", "VARCHAR", "name of the attribute")
_CODE = Column("code", "UINTEGER", "number of the value, interval or group, from 0 on")
_PLACE_OF = Column("place", "UINTEGER", "number of the feature, from 0 on")
_COUNTS = (
    Column("position", _PLACE, "the family that the key is of"),
    Column("key", _WIDE, "codes of the family's variables, packed into one number"),
    Column("n", COUNT, "training rows of this cell; with weights their sum"),
)
_FAMILIES = (
    Column("position", _PLACE, "the family"),
    Column("axis", "USMALLINT", "place of the variable in the key, from 0 on"),
    Column("variable", "USMALLINT", "position of the attribute; NULL for the class", nullable=True),
    Column("radix", "UINTEGER", "number of codes of the variable"),
    Column("stride", "HUGEINT", "code = key // stride % radix", checked=False),
)
_PER_CLASS = Column(
    "l_*", "DOUBLE", "of the class of this code: ln probability (collections: weighted probability)"
)

TABLES: tuple[Table, ...] = (
    Table(
        "meta",
        "what the model is and how it was made, as keys and values",
        (
            Column("key", "VARCHAR", "what is told"),
            Column("value", "VARCHAR", "as text; what has parts as JSON", nullable=True),
        ),
        required=True,
    ),
    Table(
        "classes",
        "the values of the target",
        (
            Column("code", "UINTEGER", "number of the class, from 0 on"),
            Column("class", "VARCHAR", "the class as text"),
            Column("n", COUNT, "training rows of the class; with weights their sum"),
            Column("column", "VARCHAR", "column of its probability in predictions"),
        ),
        required=True,
    ),
    Table(
        "attributes",
        "the attributes of the model, in the order of the input's columns",
        (
            Column("position", "USMALLINT", "number of the attribute, from 0 on"),
            _ATTRIBUTE,
            Column("kind", "VARCHAR", "numeric or categorical"),
            Column("n_values", "UINTEGER", "number of codes, that of missing values included"),
            Column("mi", "DOUBLE", "mutual information with the class, in nats"),
            Column("rank", "USMALLINT", "place in the learner's order of attributes, from 0 on"),
            Column("selected", "BOOLEAN", "whether the model uses it"),
            Column("type", "VARCHAR", "type of the input's column"),
            Column("missing_code", "UINTEGER", "code of missing values, if any", nullable=True),
            Column(
                "weight", "DOUBLE", "exponent of its probabilities: 1 counts in full", checked=False
            ),
            Column(
                "column",
                "VARCHAR",
                "the input's column, which members of an ensemble may cut each in its own way",
                checked=False,
            ),
        ),
        required=True,
    ),
    Table(
        "categories",
        "the values of categorical attributes; values of one group share a code",
        (
            _ATTRIBUTE,
            _CODE,
            Column("value", "VARCHAR", "the value as text; NULL for missing ones", nullable=True),
            Column("n", COUNT, "training rows with it; with weights their sum"),
        ),
        required=True,
    ),
    Table(
        "cuts",
        "the intervals of numeric attributes",
        (
            _ATTRIBUTE,
            _CODE,
            Column("lower", "DOUBLE", "lower bound, not included", nullable=True, checked=False),
            Column("upper", "DOUBLE", "upper bound, included; the last is inf", nullable=True),
            Column("label", "VARCHAR", "the interval as text", nullable=True),
        ),
        required=True,
    ),
    Table(
        "groups",
        "the groups of categorical attributes whose values are grouped",
        (
            _ATTRIBUTE,
            _CODE,
            Column("label", "VARCHAR", "its most frequent values as text", nullable=True),
            Column("n", COUNT, "training rows of the group; with weights their sum"),
        ),
    ),
    Table(
        "variables",
        "every column of the input by itself: how much it says about the class (MODL)",
        (
            _ATTRIBUTE,
            Column("kind", "VARCHAR", "numeric or categorical", checked=False),
            Column("n_rows_present", COUNT, "training rows with a value", checked=False),
            Column("n_missing", COUNT, "training rows without one", checked=False),
            Column("parts", "UINTEGER", "intervals, values or groups", checked=False),
            Column("level", "DOUBLE", "1 - cost / null_cost; 0: uninformative", checked=False),
            Column("cost", "DOUBLE", "MODL's cost of the parts, in nats", checked=False),
            Column("null_cost", "DOUBLE", "MODL's cost of one part", checked=False),
            Column(
                "elementary", "UINTEGER", "cells that the optimisation started from", nullable=True
            ),
            Column("used", "BOOLEAN", "false: left out as uninformative", checked=False),
        ),
    ),
    Table(
        "parents",
        "the arcs between attributes",
        (
            _ATTRIBUTE,
            Column("parent", "VARCHAR", "name of its parent"),
            Column("rank", "USMALLINT", "place among its parents, from 0 on"),
            Column("cmi", "DOUBLE", "their CMI given the class", nullable=True, checked=False),
        ),
        required=True,
    ),
    Table(
        "cmi",
        "conditional mutual information of two attributes given the class, where pairs are counted",
        (
            _ATTRIBUTE,
            Column("other", "VARCHAR", "name of the other attribute"),
            Column("cmi", "DOUBLE", "in nats"),
        ),
        required=True,
    ),
    Table(
        "encodings",
        "the encodings that were tried, by losses on the same rows",
        (
            Column("encoding", "VARCHAR", "method and bins", checked=False),
            Column("rows", "BIGINT", "training rows of the trial", checked=False),
            Column("codes", "BIGINT", "codes of all attributes", checked=False),
            Column("loss", "VARCHAR", "name of the loss", checked=False),
            Column("value", "DOUBLE", "leave-one-out loss", checked=False),
            Column(
                "cross_fitted",
                "DOUBLE",
                "loss of models of two halves of these rows, each on the other half",
                nullable=True,
                checked=False,
            ),
            Column(
                "expected",
                "DOUBLE",
                "loss on all training rows that both let expect; the smallest is chosen",
                nullable=True,
                checked=False,
            ),
            Column("chosen", "BOOLEAN", "whether the model has it", checked=False),
        ),
        writers="models of `--discretise auto`",
    ),
    Table(
        "loocv",
        "leave-one-out losses of all models that were compared",
        (
            Column("k", "USMALLINT", "parents at most; of ande its n", checked=False),
            Column("n_attributes", "USMALLINT", "the first attributes by rank", checked=False),
            Column("loss", "VARCHAR", "name of the loss", checked=False),
            Column("value", "DOUBLE", "leave-one-out loss", checked=False),
            Column(
                "smoothing",
                "VARCHAR",
                "backoff or hierarchical; NULL: ande",
                nullable=True,
                checked=False,
            ),
            Column(
                "rows",
                "BIGINT",
                "rows it rests on: all that are left out in turn, or those of a lost race",
                checked=False,
            ),
        ),
        writers="skdb, and ande with `--select`",
    ),
    Table(
        "strengths",
        "hierarchical smoothing: how much each level of an attribute's chain is pulled upwards",
        (
            _ATTRIBUTE,
            Column("level", "USMALLINT", "number of parents of the level, from 1 on"),
            Column("strength", "DOUBLE", "rows of the level above that are mixed into it"),
        ),
        writers="products with `--smoothing hierarchical`",
    ),
    Table(
        "weights",
        "exponents of the levels of an attribute's chain, fitted on rows left out",
        (
            _ATTRIBUTE,
            Column("level", "USMALLINT", "number of parents of the level, from 0 on"),
            Column("weight", "DOUBLE", "exponent of its probability"),
        ),
        writers="products with `--weights`",
    ),
    Table(
        "class_shifts",
        "what is added to ln P(class) beside the weights",
        (
            Column("class", "VARCHAR", "the class as text"),
            Column("shift", "DOUBLE", "added to the logarithm of its prior"),
        ),
        writers="products with `--weights`",
    ),
    Table(
        "members",
        "the members of an ensemble",
        (
            Column("member", "USMALLINT", "number of the member, from 0 on"),
            Column(
                "k",
                "USMALLINT",
                "parents at most that leave-one-out chose, if it did",
                nullable=True,
            ),
            Column("n_attributes", "USMALLINT", "attributes that it uses", checked=False),
        ),
        writers="ensembles (`--members`)",
    ),
    Table(
        "member_levels",
        "the levels of the chain of every attribute in every member",
        (
            Column("member", "USMALLINT", "number of the member"),
            _ATTRIBUTE,
            Column("level", "USMALLINT", "number of parents of the level, from 0 on"),
            Column(
                "strength",
                "DOUBLE",
                "rows of the level above that are mixed into it (hierarchical smoothing)",
                nullable=True,
            ),
            Column("weight", "DOUBLE", "exponent of its probability in the mean of all members"),
        ),
        writers="ensembles (`--members`)",
    ),
    Table(
        "member_attributes",
        "the order of the attributes in every member, and their parents there",
        (
            Column("member", "USMALLINT", "number of the member"),
            _ATTRIBUTE,
            Column("rank", "USMALLINT", "place in the member's order, from 0 on"),
            Column("selected", "BOOLEAN", "whether the member uses it"),
            Column("parents", "VARCHAR[]", "names of its parents, in order"),
        ),
        writers="ensembles (`--members`)",
    ),
    Table(
        "member_loocv",
        "leave-one-out losses of all models that were compared, by member",
        (
            Column("member", "USMALLINT", "number of the member", checked=False),
            Column("k", "USMALLINT", "parents at most", checked=False),
            Column("n_attributes", "USMALLINT", "the first attributes by rank", checked=False),
            Column("loss", "VARCHAR", "name of the loss", checked=False),
            Column("value", "DOUBLE", "leave-one-out loss", checked=False),
            Column(
                "rows",
                "BIGINT",
                "rows it rests on: all that are left out in turn, or those of a lost race",
                checked=False,
            ),
        ),
        writers="ensembles (`--members`)",
    ),
    Table(
        "superparents",
        "the super-parents of an average; the empty one is naive Bayes",
        (
            Column("superparent", "UINTEGER", "number of the super-parent, from 0 on"),
            Column("attributes", "VARCHAR[]", "names of its attributes"),
            Column("weight", "DOUBLE", "its weight in the mean"),
            Column("seen", "UINTEGER", "combinations of its values in the training rows"),
        ),
        writers="averages (ande)",
    ),
    Table(
        "subsumptions",
        "values that imply a value of another attribute",
        (
            Column("attribute", "VARCHAR", "name of the attribute that implies"),
            Column("code", "UINTEGER", "code of its value"),
            Column("implied", "VARCHAR", "name of the attribute that is implied"),
            Column("implied_code", "UINTEGER", "code of the implied value"),
        ),
        writers="averages (ande) with `--subsumption`",
    ),
    Table(
        "decisions",
        "the steps of a search or of choices by a bound; the arcs are in `parents`",
        (
            Column("step", "INTEGER", "number of the step, from 1 on", checked=False),
            Column("variable", "VARCHAR", "name of the child", checked=False),
            Column(
                "action", "VARCHAR", "what was decided: add, remove, reverse or none", checked=False
            ),
            Column("parent", "VARCHAR", "name of the parent, if any", nullable=True, checked=False),
            Column("candidates", "INTEGER", "candidates that were compared", checked=False),
            Column("rows", "BIGINT", "training rows that the decision took", checked=False),
            Column("rows_read", "BIGINT", "training rows read until then", checked=False),
            Column("checks", "INTEGER", "comparisons until then", checked=False),
            Column("margin", "DOUBLE", "lead over the next candidate", checked=False),
            Column("bound", "DOUBLE", "bound on the error of that lead", checked=False),
            Column("delta", "DOUBLE", "probability that the decision is wrong", checked=False),
            Column("reason", "VARCHAR", "bound, tie (below tau) or exhausted", checked=False),
        ),
        writers="searched networks (hgc, vfbn1, vfbn2) and models of `--bound`",
    ),
    Table(
        "terms",
        "the parent sets of a collection",
        (
            _ATTRIBUTE,
            Column("parents", "VARCHAR[]", "names of the parents"),
            Column("weight", "DOUBLE", "weight of the parent set"),
        ),
        writers="collections (fanc, spc, spcr, tc, collection)",
    ),
    Table(
        "counts",
        "training rows of every seen combination of a family's values and the class",
        _COUNTS,
        required=True,
    ),
    Table("families", "how the keys of `counts` are packed", _FAMILIES, required=True),
    Table(
        "history",
        "fit, updates, forgets and merges of the model",
        (
            Column("step", "UINTEGER", "number of the step, from 0 on"),
            Column("action", "VARCHAR", "fit, update, forget or merge"),
            Column("changed_at", "TIMESTAMP", "when, in UTC", checked=False),
            Column("source", "VARCHAR", "where the rows came from", nullable=True),
            Column("rows", "BIGINT", "rows of this step"),
            Column("rows_skipped", "BIGINT", "rows of this step without a class or a weight"),
            Column("total_rows", "BIGINT", "rows of the model after it"),
            Column("note", "VARCHAR", "what stayed as it was, and why", nullable=True),
        ),
    ),
    Table(
        "history_files",
        "the files of each step",
        (
            Column("step", "UINTEGER", "the step in `history`"),
            Column("path", "VARCHAR", "the file, as it was given"),
            Column("bytes", "BIGINT", "its size"),
            Column("fingerprint", "VARCHAR", "hash of its content, or of address and state"),
            Column("condition", "VARCHAR", "which of its rows, as far as options say"),
        ),
    ),
    Table(
        "cpt_*",
        "conditional probabilities of one attribute, for the combinations that were seen "
        "(averages and collections: given the class alone)",
        (
            Column("*", "VARCHAR", "value, interval or group of this attribute", nullable=True),
            Column("class", "VARCHAR", "the class"),
            Column("n", COUNT, "training rows of the combination; with weights their sum"),
            Column(
                "probability",
                "DOUBLE",
                "of the first column's value given the others and the class",
            ),
        ),
        writers="every model, one view per used attribute (ensembles: `cpt_<member>_<attribute>`)",
        derived=True,
        form="view",
    ),
    Table(
        "factors",
        "the tables that prediction joins, and how their keys are packed",
        (
            Column("factor", "UINTEGER", "number of the table `predict_factor_*`"),
            Column("role", "VARCHAR", "base, cell, parents, child, sparse or group"),
            Column("level", "SMALLINT", "level of back-off, or repeat of a group; -1: neither"),
            Column("variables", "USMALLINT[]", "positions of the attributes in the key"),
            Column("members", "USMALLINT[]", "positions of the attributes it is about"),
        ),
        required=True,
        helper=True,
    ),
    Table(
        "member_factors",
        "which member of an ensemble a table `predict_factor_*` belongs to",
        (
            Column("factor", "UINTEGER", "number of the table"),
            Column("member", "USMALLINT", "number of the member"),
        ),
        writers="ensembles (`--members`)",
        helper=True,
    ),
    Table(
        "turns",
        "the order in which a collection's children are unfolded",
        (
            Column("turn", "UINTEGER", "place in the order, from 0 on"),
            Column("role", "VARCHAR", "numbered, large or sparse"),
            Column("attribute", "VARCHAR", "name of the child"),
            Column("repeat", "USMALLINT", "how often the child came before"),
            Column("parents", "VARCHAR[]", "parents of a sparse term", checked=False),
        ),
        writers="collections (fanc, spc, spcr, tc, collection)",
        helper=True,
    ),
    Table(
        "margins",
        "training rows of the values of single attributes and of pairs, with the class: "
        "the structure comes from these",
        _COUNTS,
        helper=True,
    ),
    Table("margin_families", "how the keys of `margins` are packed", _FAMILIES, helper=True),
    Table(
        "predict_factor_*",
        "a lookup table of prediction, described in `factors`",
        (Column("key", KEY, "codes of its variables, packed into one number"), _PER_CLASS),
        writers="models of columns",
        helper=True,
    ),
    Table(
        "predict_long",
        "the tables of `factors` in one, for the macro `predict` of models of many attributes; "
        "a deeper level of a chain as its difference from the level above",
        (
            Column("key", KEY, "as in the factor's table, behind the keys of those before"),
            Column("member", "USMALLINT", "the member of an ensemble, from 0 on", checked=False),
            _PER_CLASS,
        ),
        writers="models with many tables of prediction",
        helper=True,
        derived=True,
    ),
    Table(
        "predict_super",
        "the values of super-parents, numbered",
        (
            Column("key", KEY, "codes of a super-parent's attributes, packed, behind its offset"),
            Column("number", "UINTEGER", "number under which children are looked up"),
            Column("level", "TINYINT", "attributes of the super-parent; -1: not seen"),
            Column("l_*", "DOUBLE", "of the class of this code: ln of weight times probability"),
            Column("b_*", "DOUBLE", "of the class of this code: what unseen children add"),
        ),
        writers="averages (ande)",
        helper=True,
    ),
    Table(
        "predict_implied_*",
        "what the values of one attribute imply",
        (
            Column("key", "UINTEGER", "code of the attribute"),
            Column("i_*", "UINTEGER", "implied code of the attribute of this position"),
        ),
        writers="averages (ande) with `--subsumption`",
        helper=True,
    ),
    Table(
        "predict_start",
        "where the sum over a child's parent sets starts",
        (
            Column("key", "UINTEGER", "codes of all children, behind each other's"),
            Column("number", "UINTEGER", "number under which groups are looked up"),
            Column("child", "UINTEGER", "position of the child"),
            Column("repeat", "USMALLINT", "how often the child came before"),
            Column("unseen", "DOUBLE", "what a sparse term adds for parents never seen"),
            Column("l_*", "DOUBLE", "of the class of this code: the term without parents"),
        ),
        writers="collections (fanc, spc, spcr, tc, collection)",
        helper=True,
    ),
    Table(
        "features",
        "the features of a model of long input; a row has or has not each of them",
        (
            _PLACE_OF,
            Column("feature", "VARCHAR", "its name, or where they are projected its number"),
            Column("kind", "VARCHAR", "numeric or categorical"),
            Column("n_values", "UINTEGER", "number of codes, that of absence included"),
            Column("n", "BIGINT", "training rows that have it"),
            Column("mi", "DOUBLE", "mutual information with the class, in nats"),
            Column("rank", "UINTEGER", "place by information, from 0 on"),
            Column("selected", "BOOLEAN", "whether the model uses it"),
            Column("weight", "DOUBLE", "exponent of its probabilities: 1 counts in full"),
        ),
        writers="models of long input (`--long`)",
    ),
    Table(
        "feature_values",
        "the values of features, or the intervals of their numbers; none where cells have no value",
        (
            _PLACE_OF,
            Column("code", "UINTEGER", "number of the value, from 0 on; absence has the last"),
            Column("value", "VARCHAR", "the value as text; NULL for intervals", nullable=True),
            Column("lower", "DOUBLE", "lower bound, not included", nullable=True),
            Column("upper", "DOUBLE", "upper bound, included; the last is inf", nullable=True),
            Column("n", "BIGINT", "training cells with it"),
        ),
        writers="models of long input (`--long`)",
    ),
    Table(
        "feature_counts",
        "training cells of every value and class; how often a feature is absent follows from these",
        (
            _PLACE_OF,
            Column("code", "UINTEGER", "number of the value"),
            Column("class", "USMALLINT", "code of the class"),
            Column("n", "BIGINT", "training cells"),
        ),
        writers="models of long input (`--long`)",
    ),
    Table(
        "feature_parents",
        "the arcs between features",
        (
            _PLACE_OF,
            Column("parent", "UINTEGER", "number of its parent"),
            Column("rank", "USMALLINT", "place among its parents, from 0 on"),
            Column("cmi", "DOUBLE", "their CMI given the class"),
        ),
        writers="models of long input by kdb",
    ),
    Table(
        "predict_together",
        "by how much cells change the score together, beside what each does",
        (
            Column("level", "USMALLINT", "how many cells"),
            Column("prefix", "UINTEGER", "number of the same without the last cell; 0: none"),
            Column("number", "UINTEGER", "number of these cells"),
            Column("place", "UINTEGER", "number of the last cell's feature"),
            Column("code", "UINTEGER", "number of its value; 4294967295: never seen"),
            _PER_CLASS,
        ),
        writers="models of long input by kdb",
        helper=True,
    ),
    Table(
        "predict_absent",
        "the log score of a row without any feature",
        (_PER_CLASS,),
        writers="models of long input (`--long`)",
        helper=True,
    ),
    Table(
        "predict_features",
        "by how much a cell changes the score where `predict_values` has not its value",
        (
            Column("feature", "VARCHAR", "its name, or where they are projected its number"),
            _PLACE_OF,
            _PER_CLASS,
        ),
        writers="models of long input (`--long`)",
        helper=True,
    ),
    Table(
        "predict_values",
        "by how much a cell changes the score by its value",
        (
            _PLACE_OF,
            Column("code", "UINTEGER", "number of the value"),
            Column("value", "VARCHAR", "the value as text; NULL for intervals", nullable=True),
            Column("lower", "DOUBLE", "lower bound, not included", nullable=True),
            Column("upper", "DOUBLE", "upper bound, included; the last is inf", nullable=True),
            _PER_CLASS,
        ),
        writers="models of long input (`--long`)",
        helper=True,
    ),
    Table(
        "predict_categories",
        "the values that `predict` joins",
        (
            _ATTRIBUTE,
            _CODE,
            Column("value", "VARCHAR", "the value as text; NULL for missing ones", nullable=True),
        ),
        writers="models with attributes of many values",
        helper=True,
        derived=True,
    ),
    Table(
        "predict_classes",
        "the classes that `predict` joins",
        (
            Column("attribute", "VARCHAR", "name of the target"),
            Column("code", "UINTEGER", "number of the class"),
            Column("value", "VARCHAR", "the class as text"),
        ),
        writers="models with many classes",
        helper=True,
        derived=True,
    ),
    Table(
        "predict_marker_*",
        "empty: by its name `predict` finds out where its store is attached",
        (Column("nothing", "BOOLEAN", "nothing", nullable=True),),
        helper=True,
        derived=True,
    ),
)

# What the value of a meta key must be; of other keys anything is taken.
Value = Literal[
    "text", "whole", "bits", "number", "above 0", "object", "list", "type", "boolean",
    "learner", "backoff", "estimate", "missing", "unseen", "smoothing", "weightings", "weight_kind",
]  # fmt: skip


@dataclass(frozen=True)
class MetaKey:
    """A key of the table `meta`; without a `required` one a model cannot be opened."""

    name: str
    value: Value
    comment: str
    required: bool = False


META: tuple[MetaKey, ...] = (
    MetaKey("format", "whole", "format of the stored tables"),
    MetaKey("sqlbn", "text", "version of sqlbn that wrote the model"),
    MetaKey("duckdb", "text", "version of DuckDB"),
    MetaKey("python", "text", "version of Python"),
    MetaKey("dialect", "text", "dialect of the SQL in the store"),
    MetaKey("name", "text", "name of the model"),
    MetaKey("version", "whole", "how often a model of this name was written"),
    MetaKey("learner", "learner", "name of the learner", required=True),
    MetaKey("options", "object", "options of learner and encoding", required=True),
    MetaKey("target", "text", "column of the class; empty: none", required=True),
    MetaKey("target_type", "type", "its type", required=True),
    MetaKey("m", "above 0", "m of the m-estimate", required=True),
    MetaKey("backoff", "backoff", "`--backoff`"),
    MetaKey("estimate", "estimate", "`--estimate`"),
    MetaKey("missing", "missing", "`--missing`"),
    MetaKey("unseen", "unseen", "`--unseen`"),
    MetaKey("smoothing", "smoothing", "`--smoothing`, as it was chosen"),
    MetaKey("weights", "weightings", "`--weights`, as it was chosen"),
    MetaKey("smoothing_losses", "object", "leave-one-out losses of both smoothings"),
    MetaKey("effort", "text", "`--effort`, where no learner was named"),
    MetaKey("weights_losses", "object", "losses on rows that the weights were not fitted on"),
    MetaKey("weight", "text", "column of weights; empty: none", required=True),
    MetaKey("weight_bits", "bits", "binary digits behind the point that weights have"),
    MetaKey("weight_kind", "weight_kind", "`--weight-kind`"),
    MetaKey("long", "object", "`--long`: columns and rules of the cells"),
    MetaKey("cells_ignored", "whole", "of long input: cells of rows that have no class"),
    MetaKey("paired_features", "whole", "of long input: features that may have parents"),
    MetaKey("where", "text", "`--where`", required=True),
    MetaKey("source", "text", "where the rows came from", required=True),
    MetaKey("files", "list", "the files whose rows are in the model, and their bytes"),
    MetaKey("rows", "whole", "training rows", required=True),
    MetaKey("rows_skipped", "whole", "rows without a class or a weight", required=True),
    MetaKey("created_at", "text", "time of the fit", required=True),
    MetaKey("updated_at", "text", "time of the last update, forget or merge"),
    MetaKey("seconds", "object", "seconds of every stage"),
    MetaKey("elementary", "object", "attributes with too many values for the optimisation: cells"),
    MetaKey("encoding_choice", "text", "of `--discretise auto`: why the encoding was chosen"),
    MetaKey("selected_k", "whole", "parents at most that leave-one-out chose; of ande its n"),
    MetaKey("selected_attributes", "whole", "attributes that leave-one-out chose"),
    MetaKey("race", "object", "of nested models: rows of its parts, models, left ones, rows saved"),
    MetaKey("mean", "text", "of ensembles: arithmetic or geometric"),
    MetaKey("mean_losses", "object", "of ensembles: leave-one-out losses of both means"),
    MetaKey("members_losses", "object", "of ensembles: losses of so many of the members"),
    MetaKey("superparent", "text", "the super-parent that was chosen"),
    MetaKey("cost", "number", "of snb: cost of the chosen attributes, in nats"),
    MetaKey("null_cost", "number", "of snb: cost of none"),
    MetaKey("evaluations", "whole", "of snb: sets of attributes that were evaluated"),
    MetaKey("chunks", "object", "of snb: distinct rows, their chunks, and how many were on disk"),
    MetaKey("bound", "object", "`--bound` and its options"),
    MetaKey("delta_star", "number", "probability that any decision is wrong"),
    MetaKey("tau", "number", "indifference threshold of a search"),
    MetaKey("structure_rows", "whole", "rows that the structure took"),
    MetaKey("structure_steps", "whole", "steps of a search"),
    MetaKey("arcs", "whole", "arcs that a search found"),
    MetaKey("interrupted", "boolean", "a search was broken off"),
    MetaKey("window", "whole", "rows of the last window of `network follow`"),
    MetaKey("unchanged", "text", "what the last change left as it was, and why"),
)

PREDICT = "rows with their `prediction` and `p_<class>`; tbl: a table, view, file or list of files"

# What the names of the tables that `predict` joins begin with.
PREDICTING = "predict_"
REQUIRED = tuple(t.name for t in TABLES if t.required)


@cache
def declared(name: str) -> Table | None:
    """What is said of a table (or view) of this name; None where nothing is."""
    found = next((t for t in TABLES if t.name == name), None)
    return found or next(
        (t for t in TABLES if t.name.endswith(_ANY) and name.startswith(t.name[:-1])), None
    )


def columns_sql(name: str, n_type: str, types: Mapping[str, str], classes: int = 0) -> str:
    """The columns of a table for CREATE TABLE: names and types, quoted.

    `types` chooses where a column may be of several; rows are counted in `n_type`.
    """
    return ", ".join(f'"{c}" {t}' for c, t in _chosen(name, n_type, types, classes))


def _chosen(
    name: str, n_type: str, types: Mapping[str, str], classes: int
) -> Iterator[tuple[str, str]]:
    table = declared(name)
    assert table is not None, f"no stored table {name!r} is declared"
    for column in table.columns:
        usual = n_type if column.type == COUNT else column.types[0]
        chosen = types.get(column.name, usual)
        assert chosen in column.types, f"{name}.{column.name} cannot be {chosen}"
        names = [f"{column.name[:-1]}{j}" for j in range(classes)] if column.repeats else []
        for each in names if column.repeats else [column.name]:
            yield each, chosen


# -- the reference page ------------------------------------------------------------------------


def reference() -> str:
    """The tables as Markdown: for people first, then those that only programs read."""
    parts = [_tables(t for t in TABLES if not t.helper)]
    parts.append(_paragraph(f"**`predict(tbl)`** (table macro): {PREDICT}."))
    parts += ["### Keys of `meta`", "| key | value |\n| --- | --- |\n" + _meta_rows()]
    parts += [
        "### Tables that only programs read",
        "They lie in the schema `<model>__tables`: `predict` joins them and `update` needs them.",
        _tables(t for t in TABLES if t.helper),
    ]
    return "\n\n".join(parts)


def _tables(tables: Iterator[Table]) -> str:
    found = []
    for table in tables:
        which = "" if table.writers == "every model" else f" Of {table.writers}."
        head = f"**`{table.name}`**{' (view)' if table.form == 'view' else ''}:"
        rows = [f"| `{c.name}` | {c.type} | {c.comment} |" for c in table.columns]
        listed = "\n".join(["| column | type | |", "| --- | --- | --- |", *rows])
        found.append(f"{_paragraph(f'{head} {table.comment}.{which}')}\n\n{listed}")
    return "\n\n".join(found)


def _paragraph(text: str) -> str:
    """Lines that fit a terminal."""
    return textwrap.fill(text, 96, break_long_words=False, break_on_hyphens=False)


def _meta_rows() -> str:
    return "\n".join(f"| `{key.name}` | {key.comment} |" for key in META)
