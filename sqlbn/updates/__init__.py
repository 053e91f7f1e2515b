"""Updates: rows are added and taken out by adding and subtracting counts."""
