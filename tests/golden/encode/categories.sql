-- categories of counted values
SELECT
  CAST(row_number() OVER (ORDER BY value NULLS LAST) - 1 AS UINTEGER) AS code,
  CAST(value AS VARCHAR) AS value,
  n
FROM counted_4
ORDER BY code;
