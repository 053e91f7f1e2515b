"""A mean of products over super-parents: AnDE."""
