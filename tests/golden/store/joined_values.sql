-- categories of a model without those of some rows
WITH joined AS (
  SELECT
    attribute,
    TRY_CAST(value AS BIGINT) AS typed,
    max(value) AS value,
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
  HAVING sum(n) <> 0
),
placed AS (
  SELECT
    *,
    row_number() OVER (PARTITION BY attribute ORDER BY typed NULLS LAST) AS place,
    COALESCE(first_code, max(first_code) OVER (PARTITION BY attribute, second_code)) AS known
  FROM joined
),
grouped AS (
  SELECT
    *,
    min(place) OVER (
      PARTITION BY attribute, known, CASE WHEN known IS NULL THEN second_code END
    ) AS first_place
  FROM placed
)
SELECT
  attribute,
  CAST(dense_rank() OVER (PARTITION BY attribute ORDER BY first_place) - 1 AS UINTEGER) AS code,
  value,
  n,
  first_code,
  second_code
FROM grouped;
