{# The values of two models' columns of one type put together, in sorted order, missing last: their
   counts, and under which code each model has them. #}
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
    TRY_CAST(value AS {{ type }}) AS typed,
    any_value(value) AS value,
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
)
WHERE n <> 0
