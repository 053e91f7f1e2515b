"""A product of sums over parent sets: collections."""
