-- categories of a filtered column
SELECT
  CAST(row_number() OVER (ORDER BY value NULLS LAST) - 1 AS UINTEGER) AS code,
  CAST(value AS VARCHAR) AS value,
  n
FROM (
  SELECT TRY_CAST("colour" AS VARCHAR) AS value, count(*) AS n
  FROM fruit
  WHERE ("spots" > 1)
  GROUP BY ALL
)
ORDER BY code;
