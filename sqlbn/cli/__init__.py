"""The command line: what the Python API does, over files."""

from sqlbn.cli.main import main

__all__ = ["main"]
