"""Evaluation: losses of a model on held-out rows, by test files or by folds."""

from sqlbn.evaluation.metrics import Evaluation

__all__ = ["Evaluation"]
