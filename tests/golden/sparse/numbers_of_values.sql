-- numbers of values
SELECT max(code) + 1 AS n_values FROM feature_counts GROUP BY place ORDER BY place;
