"""Rows that come as cells: a long table of row ids, features and values, and their classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlbn.engines.relations import Source
from sqlbn.engines.sql import identifier, literal, render, select_sql
from sqlbn.engines.value_types import TypeGroup, compared_as, type_group
from sqlbn.errors import ColumnError, OptionError, opt

# What a value may be.
_VALUES: Sequence[TypeGroup] = ("text", "boolean", "integer", "float", "decimal")


@dataclass(frozen=True)
class LongNames:
    """The columns of a long table; without one of values a cell is there or not."""

    row: str
    feature: str
    value: str | None = None

    @classmethod
    def of(cls, given: Sequence[str]) -> LongNames:
        """The names that an option gives."""
        names = [name for name in given if name]
        if len(names) not in (2, 3) or len(names) != len(given):
            raise OptionError(
                "give the columns of row ids, features and, if there is one, values: "
                "row,feature,value",
                long=",".join(given),
            )
        if len({name.lower() for name in names}) < len(names):
            raise OptionError("the columns must be different ones", long=",".join(given))
        return cls(*names)

    @property
    def listed(self) -> list[str]:
        """Those that there are."""
        return [self.row, self.feature, *([self.value] if self.value is not None else [])]

    def within(self, source: Source) -> LongNames:
        """The same as a source spells them, which has them in types that can be used."""
        row = source.column(self.row, f"{opt('long')} row")
        feature = source.column(self.feature, f"{opt('long')} feature")
        value = source.column(self.value, f"{opt('long')} value") if self.value else None
        _check_type(source, row, "row id", ("text", "integer"), "text or a whole number")
        _check_type(source, feature, "feature", ("text", "integer"), "text or a whole number")
        if value is not None:
            _check_type(source, value, "value", _VALUES, "text, a number or a boolean")
        return LongNames(row, feature, value)


def _check_type(
    source: Source, column: str, what: str, groups: Sequence[TypeGroup], words: str
) -> None:
    found = source.columns[column]
    if type_group(found) not in groups:
        raise ColumnError(
            f"the {what} {column!r} of {source.label} is {found[:60]}; it must be {words}: cast it "
            f"with {opt('query')}"
        )


@dataclass(frozen=True)
class LongRows:
    """Cells, and where their rows have their class: in a table of labels, or in cells of one
    feature, the target. `was_feature`: labels that were read off such cells."""

    names: LongNames
    cells: Source
    target: str
    labels: Source | None = None
    was_feature: bool = False

    def __post_init__(self) -> None:
        if self.labels is None:
            if self.names.value is None:
                raise OptionError(
                    f"{opt('long')} without values has no class: give {opt('labels')}, a table "
                    "with the row ids and their class"
                )
            return
        for name in (self.names.row, self.target):
            self.labels.column(name, f"the column of {opt('labels')}")
        ours, theirs = self.cells.columns[self.names.row], self.labels.columns[self.label_row]
        if compared_as(ours) != compared_as(theirs):
            raise ColumnError(
                f"the row ids {self.names.row!r} are {ours[:60]} in {self.cells.label} but "
                f"{theirs[:60]} in {self.labels.label}; cast one of them with {opt('query')}"
            )

    @property
    def label_row(self) -> str:
        """The column of row ids among the labels."""
        assert self.labels is not None
        return self.labels.column(self.names.row)

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that is read."""
        return (self.cells,) if self.labels is None else (self.cells, self.labels)

    @property
    def label(self) -> str:
        """What messages call them."""
        return self.cells.label

    @property
    def classes(self) -> Source:
        """The rows with their class: the columns of row ids and of the target."""
        if self.labels is not None:
            target = self.labels.column(self.target, "the target")
            items = {self.names.row: self.label_row, self.target: target}
            source = self.labels
            types = [source.columns[column] for column in items.values()]
        else:
            assert self.names.value is not None
            items = {self.names.row: self.names.row, self.target: self.names.value}
            is_class = f"{feature_text(self.names.feature)} = {literal(self.target)}"
            source = self.cells.filtered(is_class)
            types = [source.columns[column] for column in items.values()]
        listed = ", ".join(f"{identifier(c)} AS {identifier(name)}" for name, c in items.items())
        return Source(
            relation=f"({source.select(listed)})",
            columns=dict(zip(items, types, strict=True)),
            label=source.label,
            files=source.files,
        )

    def of_classes(self, classes: Source) -> LongRows:
        """The same cells for some of the rows."""
        return replace(self, labels=classes, was_feature=self.holds_classes)

    @property
    def holds_classes(self) -> bool:
        """Whether cells of one feature are the classes."""
        return self.labels is None or self.was_feature


def feature_text(column: str, alias: str | None = None) -> str:
    """A feature as it is named."""
    place = identifier(column) if alias is None else f"{alias}.{identifier(column)}"
    return f"CAST({place} AS VARCHAR)"


def wanted_rows(rows: Source, name: str) -> str:
    """The row ids that are to be scored, each once."""
    column = rows.column(name, f"the column of {opt('labels')}")
    return render("sparse/wanted", row=identifier(column), relation=rows.filtered_relation)


def count_gaps(source: Source, names: LongNames) -> str:
    """The statement that counts cells, those without a row id, and those without a feature."""
    items = f"count(*), count({identifier(names.row)}), count({identifier(names.feature)})"
    return select_sql(source.filtered_relation, items)
