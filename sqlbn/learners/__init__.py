"""Learners: one file each, saying which counts it needs and what structure they give."""

from sqlbn.learners.base import Learner
from sqlbn.learners.registry import LEARNERS, make_learner

__all__ = ["LEARNERS", "Learner", "make_learner"]
