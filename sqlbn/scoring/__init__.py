"""Scoring: factors → lookup tables → join queries; losses. Learners are unknown here."""
