-- counts of sets
SELECT s.number, a.x AS x0, b1.x AS x1, b2.x AS x2, a.y, count(*) AS n
FROM sets_9 AS s
JOIN coded_8 AS a ON a.f = s.v0
LEFT JOIN coded_8 AS b1 ON b1.n = a.n AND b1.f = s.v1
LEFT JOIN coded_8 AS b2 ON b2.n = a.n AND b2.f = s.v2
GROUP BY ALL;
