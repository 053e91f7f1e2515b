"""What the program needs besides verbs: checks before the work, tables and pictures of results."""

from sqlbn.api.fit_calls import plan
from sqlbn.data.opening import check_there
from sqlbn.engines.output_files import (
    check_folder,
    check_new_folder,
    check_rows_file,
    check_table_file,
    write_table,
)
from sqlbn.engines.sql import identifier, literal
from sqlbn.evaluation.cross_validation import points_table
from sqlbn.evaluation.metrics import (
    OF_POSITIVE,
    RANKINGS,
    Evaluation,
    check_measure,
    deviation,
)
from sqlbn.networks.following import FollowedBlock
from sqlbn.networks.stored_networks import read_network
from sqlbn.report.plots import (
    check_plot,
    plot_curves,
    plot_loocv,
    plot_profiles,
    plot_stream,
)
from sqlbn.store.damage import model_label
from sqlbn.store.saving import as_folder, is_folder
from sqlbn.updates.changes import Change
from sqlbn.updates.stream import LEAST_BATCHES, StreamBatch, batches_table

__all__ = [
    "LEAST_BATCHES",
    "OF_POSITIVE",
    "RANKINGS",
    "Change",
    "Evaluation",
    "FollowedBlock",
    "StreamBatch",
    "as_folder",
    "batches_table",
    "check_folder",
    "check_measure",
    "check_new_folder",
    "check_plot",
    "check_rows_file",
    "check_table_file",
    "check_there",
    "deviation",
    "identifier",
    "is_folder",
    "literal",
    "model_label",
    "plan",
    "plot_curves",
    "plot_loocv",
    "plot_profiles",
    "plot_stream",
    "points_table",
    "read_network",
    "write_table",
]
