-- rows of pieces of an order
SELECT "kind" AS p0, shuffle // 1024 AS p1, count(*) AS n
FROM (SELECT * FROM fruit)
GROUP BY ALL
ORDER BY p0 NULLS LAST, p1 NULLS LAST;
