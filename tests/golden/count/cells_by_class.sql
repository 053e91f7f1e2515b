-- cells of an attribute with one parent
SELECT
  CAST((key // 6 % 3) AS INTEGER) AS c0,
  CAST((key // 2 % 3) AS INTEGER) AS c1,
  CAST((key % 2) AS INTEGER) AS y,
  n
FROM "m".counts
WHERE position = 1
ORDER BY key;
