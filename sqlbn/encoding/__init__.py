"""Encoding: codebooks (categories, cut points, missing, unseen) and the table of codes."""
