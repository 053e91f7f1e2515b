"""Ensembles: a mean of the probabilities of several products."""
