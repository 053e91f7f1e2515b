# From Parquet to predictions on the command line. Run from the repository's top folder.
set -e

# Learn. The model becomes tables in census.duckdb. Without --effort quick the encoding, smoothing
# and weights are chosen as well, by trials that take several times as long: the better model.
sqlbn fit examples/adult.parquet --target class --effort quick --store census.duckdb --name adult

# What has been learned?
sqlbn models --store census.duckdb
sqlbn show adult --store census.duckdb
sqlbn show adult --store census.duckdb --cpt sex

# How were the attributes and the number of parents chosen?
sqlbn show adult --store census.duckdb --loocv --plot choice.svg

# How good is it on rows it has not seen? And naive Bayes on the same folds? A fit for every fold.
sqlbn evaluate examples/adult.parquet --target class --folds 3 --effort quick
sqlbn evaluate examples/adult.parquet --target class --learner nb --folds 3 --json

# Score rows: straight from Parquet to Parquet.
sqlbn predict adult examples/adult.parquet --store census.duckdb --out scored.parquet

# A second model in the same store, of some rows and columns.
sqlbn fit examples/adult.parquet --target class --learner tan --where "age < 40" \
    --exclude fnlwgt --exclude education-num --store census.duckdb --name young

# The SQL behind it, to read or to run elsewhere.
sqlbn sql predict adult examples/adult.parquet --store census.duckdb

sqlbn drop young --store census.duckdb
