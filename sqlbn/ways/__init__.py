"""The roads from codes to a model's tables: one a kind of model."""
