-- counts of a stored family, whatever the class
SELECT n, count(*) AS cells
FROM (
  SELECT sum(n) AS n
  FROM margins
  WHERE position = 3
  GROUP BY key // 7
)
GROUP BY n
ORDER BY n;
