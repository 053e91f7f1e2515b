"""How a line of a long table becomes a cell: its feature as named, its value as coded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from sqlbn.data.long_rows import LongNames, feature_text
from sqlbn.engines.relations import Source
from sqlbn.engines.sql import identifier, literal, render
from sqlbn.engines.value_types import type_group
from sqlbn.errors import ColumnError, opt

# What cells have: nothing but a feature, a text, or a number.
Mode = Literal["presence", "text", "number"]


@dataclass(frozen=True)
class CellRules:
    """Names of columns, what features and values are, and to how many features they are projected.

    `left_out` is the feature whose cells are the classes. Projected, whole numbers go modulo
    `features`, text by its MD5; numbers of one feature are added up; text values are hashed with
    their feature, so that a cell is there or not. `names` says which columns the table has:
    `mode` is what is left of the values.
    """

    names: LongNames
    mode: Mode
    whole_features: bool
    whole_values: bool = False
    features: int | None = None
    left_out: str | None = None

    @classmethod
    def of(
        cls, source: Source, names: LongNames, features: int | None, left_out: str | None
    ) -> CellRules:
        """The rules of a table that is learned from."""
        whole = type_group(source.columns[names.feature]) == "integer"
        if names.value is None:
            return cls(names, "presence", whole, features=features, left_out=left_out)
        group = type_group(source.columns[names.value])
        if group in ("integer", "float", "decimal"):
            return cls(names, "number", whole, group == "integer", features, left_out)
        mode: Mode = "text" if features is None else "presence"
        return cls(names, mode, whole, features=features, left_out=left_out)

    @property
    def document(self) -> dict[str, Any]:
        """What a model's meta table says of them."""
        return {
            "row": self.names.row,
            "feature": self.names.feature,
            "value": self.names.value,
            "mode": self.mode,
            "whole_features": self.whole_features,
            "whole_values": self.whole_values,
            "features": self.features,
            "left_out": self.left_out,
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> CellRules:
        """Those of a stored model."""
        value, left_out, features = (document[k] for k in ("value", "left_out", "features"))
        mode = document["mode"]
        if mode not in get_args(Mode) or not isinstance(features, int | None):
            raise ValueError("meta.long is not what it says of cells")
        return cls(
            LongNames(
                str(document["row"]),
                str(document["feature"]),
                str(value) if value is not None else None,
            ),
            cast(Mode, mode),
            bool(document["whole_features"]),
            bool(document["whole_values"]),
            features,
            str(left_out) if left_out is not None else None,
        )

    def check(self, source: Source, names: LongNames) -> None:
        """An error where other cells cannot be of these rules."""
        whole = type_group(source.columns[names.feature]) == "integer"
        if self.features is not None and whole != self.whole_features:
            was, now = (
                ("whole numbers", "text") if self.whole_features else ("text", "whole numbers")
            )
            raise ColumnError(
                f"the features {names.feature!r} of {source.label} are {now}, but were {was} when "
                f"the model was learned, and {opt('features')} projects them otherwise; cast them"
            )
        if names.value is None:
            return
        group = type_group(source.columns[names.value])
        is_number = group in ("integer", "float", "decimal")
        if is_number != (self.mode == "number"):
            raise ColumnError(
                f"the values {names.value!r} of {source.label} are "
                f"{source.columns[names.value][:60]}, and were "
                f"{'numbers' if self.mode == 'number' else 'text'} when the model was learned; "
                "cast them"
            )

    # -- SQL -------------------------------------------------------------------------------------

    def cells_sql(self, relation: str, keeps_rows: bool = False) -> str:
        """The cells of a relation: row id r, feature f and, where there is one, value v.

        A cell without a value, or whose value is not a number, is none; `keeps_rows` that have no
        other.
        """
        column, conditions = self.names.value, list[str]()
        value = self._value_sql(f"i.{identifier(column)}") if column is not None else None
        if self.left_out is not None:
            named = feature_text(self.names.feature, "i")
            conditions.append(f"{named} <> {literal(self.left_out)}")
        if value is not None:
            conditions.append(f"{value} IS NOT NULL")
        sql = render(
            "sparse/cells",
            row=identifier(self.names.row),
            feature=self._feature_sql(),
            value=value if self.mode != "presence" else None,
            conditions=conditions,
            keeps_rows=keeps_rows,
            relation=relation,
        )
        return self.merged_sql(sql) if self.features is not None else sql

    def merged_sql(self, cells: str) -> str:
        """Cells of projected features: those that have met are one."""
        return render("sparse/merged", cells=cells, is_number=self.mode == "number")

    def _feature_sql(self) -> str:
        named = feature_text(self.names.feature, "i")
        if self.features is None:
            return named
        n = self.features
        if self.names.value is not None and self.mode == "presence":
            named = f"{named} || '=' || CAST(i.{identifier(self.names.value)} AS VARCHAR)"
        elif self.whole_features:
            place = f"CAST(i.{identifier(self.names.feature)} AS HUGEINT)"
            return f"CAST(({place} % {n} + {n}) % {n} AS VARCHAR)"
        return f"CAST(md5_number_lower({named}) % {n} AS VARCHAR)"

    def _value_sql(self, column: str) -> str:
        if self.mode != "number":
            return f"CAST({column} AS VARCHAR)"
        number = f"CAST({column} AS DOUBLE)"
        return f"CASE WHEN NOT isnan(even({number})) THEN {number} + 0e0 END"

    def match_sql(self, parts: str, cell: str = "c") -> str | None:
        """The condition under which a cell has a value's code; None where there are no values."""
        if self.mode == "presence":
            return None
        if self.mode == "text":
            return f"{parts}.value = {cell}.v"
        inside = f"{cell}.v > {parts}.lower AND {cell}.v <= {parts}.upper"
        return f"(({inside}) OR {parts}.value = {whole_text(f'{cell}.v')})"


def whole_text(number: str) -> str:
    """A whole number as categories name it; NULL for others."""
    whole = f"CAST(TRY_CAST({number} AS BIGINT) AS VARCHAR)"
    return f"CASE WHEN {number} = trunc({number}) THEN {whole} END"
