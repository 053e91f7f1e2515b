{# The categories of one column in sorted order, missing last, with their counts. #}
SELECT
  CAST(row_number() OVER (ORDER BY value NULLS LAST) - 1 AS UINTEGER) AS code,
  CAST(value AS VARCHAR) AS value,
  n
FROM {{ counted }}
ORDER BY code
