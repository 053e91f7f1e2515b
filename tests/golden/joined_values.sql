-- categories of a model without those of some rows
SELECT
  attribute,
  CAST(row_number() OVER (PARTITION BY attribute ORDER BY typed NULLS LAST) - 1 AS UINTEGER) AS code,
  value,
  n,
  first_code,
  second_code
FROM (
  SELECT
    attribute,
    TRY_CAST(value AS BIGINT) AS typed,
    any_value(value) AS value,
    sum(n) AS n,
    max(code) FILTER (WHERE first) AS first_code,
    max(code) FILTER (WHERE NOT first) AS second_code
  FROM (
    SELECT attribute, code, value, n, true AS first FROM old.categories
    UNION ALL
    SELECT attribute, code, value, -1 * n, false FROM gone.categories
  )
  WHERE attribute IN ('age', 'it''s')
  GROUP BY attribute, typed
)
WHERE n <> 0;
