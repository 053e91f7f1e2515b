"""Pictures of models and evaluations; drawn with matplotlib, an optional extra."""
