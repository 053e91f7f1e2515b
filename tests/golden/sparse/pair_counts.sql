-- counts of pairs
WITH part AS (
  SELECT n, y, g FROM coded_8 WHERE n >= 0 AND n < 1000
)
SELECT a.g AS g, b.g AS h, a.y AS y, count(*) AS n
FROM part AS a
JOIN part AS b ON b.n = a.n AND b.g > a.g
GROUP BY a.g, b.g, a.y;
