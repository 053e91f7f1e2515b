-- classes of parts
SELECT class, CAST(sum(n) AS BIGINT)
FROM (
  SELECT class, 1 * n AS n FROM a UNION ALL
  SELECT class, -1 * n AS n FROM b
)
GROUP BY class
HAVING sum(n) <> 0
ORDER BY CAST(class AS VARCHAR);
