-- counts without those of some rows
SELECT position, key, sum(n)::BIGINT AS n
FROM (
  FROM "model"."counts"
  UNION ALL
  SELECT position, key, -n FROM "rows"."counts"
)
GROUP BY position, key
HAVING sum(n) <> 0
ORDER BY position, key;
