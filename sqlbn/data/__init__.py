"""Sources: how a user's data becomes one relation with a checked schema."""

from sqlbn.data.opening import open_source
from sqlbn.engines.relations import Source, SourceFile

__all__ = ["Source", "SourceFile", "open_source"]
