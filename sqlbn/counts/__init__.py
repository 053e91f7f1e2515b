"""Counting: families of variables → covering plan → GROUP BY queries → count tables."""
