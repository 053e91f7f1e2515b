{# The values of two models' columns of one type put together, in sorted order, missing last: their
   counts, and under which code each model has them. Values that share a code in either model share
   one here; codes are numbered by their first value. A zero that an older model calls -0.0 is 0.0
   afterwards. #}
WITH joined AS (
  SELECT
    attribute,
    TRY_CAST(value AS {{ type }}) AS typed,
    max(value) AS value,
    sum(n) AS n,
    max(code) FILTER (WHERE first) AS first_code,
    max(code) FILTER (WHERE NOT first) AS second_code
  FROM (
    SELECT attribute, code, value, n, true AS first FROM {{ first }}
    UNION ALL
    SELECT attribute, code, value, {{ sign }} * n, false FROM {{ second }}
  )
  WHERE attribute IN ({{ attributes }})
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
FROM grouped
