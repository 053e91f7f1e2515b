"""P(y) times P(x | parents, y) of every attribute, perhaps with a weight each."""
