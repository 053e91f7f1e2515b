{# The categories of one column in sorted order, missing last, with their counts. #}
SELECT
  CAST(row_number() OVER (ORDER BY value NULLS LAST) - 1 AS UINTEGER) AS code,
  CAST(value AS VARCHAR) AS value,
  n
FROM (
  SELECT {{ value }} AS value, {{ total }} AS n
  FROM {{ relation }}
  {{ where }}
  GROUP BY ALL
)
ORDER BY code
