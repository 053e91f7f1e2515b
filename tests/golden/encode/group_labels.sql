-- labels of groups
SELECT
  code,
  CASE
    WHEN count(*) > 4
      THEN string_agg(value, ', ' ORDER BY place) FILTER (WHERE place <= 4) || ', … (' || count(*) || ' values)'
    ELSE string_agg(value, ', ' ORDER BY place)
  END AS label,
  sum(n) AS n
FROM (
  SELECT code, value, n, row_number() OVER (PARTITION BY code ORDER BY TRY_CAST(value AS BIGINT)) AS place
  FROM "model"."categories"
  WHERE attribute = 'it''s'
)
GROUP BY code
ORDER BY code;
