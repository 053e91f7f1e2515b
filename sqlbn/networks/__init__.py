"""Bayesian networks of discrete variables: read, written, made at random, drawn from."""

from sqlbn.networks.bif import read_bif, write_bif
from sqlbn.networks.network import Network, Variable

__all__ = ["Network", "Variable", "read_bif", "write_bif"]
