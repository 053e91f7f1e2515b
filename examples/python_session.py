"""From Parquet to predictions in Python. Run from the repository's top folder."""

import sqlbn

# Learn, and keep the model in a file that SQL users can attach. Without effort="quick" encoding,
# smoothing and weights are chosen as well, by trials that take several times as long.
model = sqlbn.fit(
    "examples/adult.parquet",
    target="class",
    effort="quick",
    store="census.duckdb",
    name="adult",
    replace=True,
)
print(model)

# Its parts are Arrow tables.
print(model.attributes.select(["attribute", "kind", "n_values", "mi"]).slice(0, 3).to_pylist())
print(model.cpt("sex").slice(0, 2).to_pylist())

# Rows in, rows out; to a file without passing through Python, or as an Arrow table.
model.predict("examples/adult.parquet", out="scored.parquet")
scored = model.predict("examples/adult.parquet", where="age > 80")
print(scored.select(["age", "class", "prediction", "p_>50K"]).slice(0, 3).to_pylist())

# Losses on rows that were not trained on.
result = sqlbn.evaluate("examples/adult.parquet", target="class", folds=3, effort="quick")
print({name: round(value, 4) for name, value in result.losses.items()})

# Later, elsewhere.
again = sqlbn.load("census.duckdb", "adult")
print(again.meta["created_at"] == model.meta["created_at"])
