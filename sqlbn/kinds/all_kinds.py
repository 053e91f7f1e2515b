"""All kinds of models; which one a stored model is of, its tables tell."""

from __future__ import annotations

from collections.abc import Sequence

from sqlbn.encoding.codebook import Codebook
from sqlbn.engines.workspace import Workspace
from sqlbn.kinds.average.average_kind import AverageScoring
from sqlbn.kinds.collection.collection_kind import CollectionScoring
from sqlbn.kinds.ensemble.ensemble_kind import EnsembleScoring
from sqlbn.kinds.estimates import Smoothing
from sqlbn.kinds.kind import Scoring
from sqlbn.kinds.product.product_kind import ProductScoring
from sqlbn.kinds.sparse.sparse_query import SparseScoring

# A product last: its table of factors is one that every model has.
SCORINGS: tuple[type[Scoring], ...] = (
    AverageScoring,
    CollectionScoring,
    EnsembleScoring,
    SparseScoring,
    ProductScoring,
)


def read_scoring(workspace: Workspace, books: Sequence[Codebook], smoothing: Smoothing) -> Scoring:
    """How the model in a workspace is scored; the books are those that new rows meet."""
    tables = {*workspace.names(), ProductScoring.marker}
    kind = next(kind for kind in SCORINGS if kind.marker in tables)
    return kind.read(workspace, books, smoothing)
