"""Naive Bayes and its like over features that a row has or has not."""
