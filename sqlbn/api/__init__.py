"""The Python API: one file for each group of verbs; `call` has what all of them do first.

`sqlbn.fit` and its like are the public names; sqlbn/__init__.py imports them on first use.
"""
