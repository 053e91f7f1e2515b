"""The store: a DuckDB file with one schema per model, or a folder of Parquet tables.

Tables in, tables out; nothing is learned.
"""

from sqlbn.store.saving import Store, open_store

__all__ = ["Store", "open_store"]
