"""Learners: one file each, saying which counts it needs and what structure they give."""

from sqlbn.learners.ande import ALIASES
from sqlbn.learners.base import Learner
from sqlbn.learners.registry import LEARNERS, make_learner

__all__ = ["ALIASES", "LEARNERS", "Learner", "make_learner"]
