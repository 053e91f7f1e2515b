"""The model store: one DuckDB file, a schema a model. Tables in, tables out; nothing is learned."""

from sqlbn.store.file import StoreFile

__all__ = ["StoreFile"]
