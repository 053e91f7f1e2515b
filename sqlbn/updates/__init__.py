"""Models that live: rows are added and taken out by adding and subtracting counts."""
