"""Models: what each kind (product, average, collection) is in counts, tables and SQL."""
