-- values that are text
SELECT
  place,
  CAST(row_number() OVER (PARTITION BY place ORDER BY v) - 1 AS UINTEGER) AS code,
  v AS value,
  CAST(NULL AS DOUBLE) AS lower,
  CAST(NULL AS DOUBLE) AS upper,
  n
FROM (SELECT place, v, sum(n) AS n FROM totals_3 GROUP BY place, v);
