"""Sources: how a user's data becomes one relation with a checked schema."""

from sqlbn.sources.opening import open_source
from sqlbn.sources.relation import Source, SourceFile

__all__ = ["Source", "SourceFile", "open_source"]
