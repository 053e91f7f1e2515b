-- counts of parts
SELECT feature, value, lower, upper, class, CAST(sum(n) AS BIGINT) AS n
FROM (
  SELECT * FROM a
  UNION ALL
  SELECT * FROM b
)
GROUP BY ALL
HAVING sum(n) <> 0;
