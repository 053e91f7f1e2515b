-- counts of a level of back-off, missing values left out
SELECT
  (c0::UINTEGER)*4+c1 AS key,
  c1::UINTEGER AS parents_key,
  y,
  sum(n) AS n
FROM (
  SELECT
    (key // 6 % 3) AS c0,
    (key // 2 % 3) AS c1,
    (key % 2) AS y,
    n
  FROM "model"."counts"
  WHERE position = 3
)
WHERE c0 <> 2
AND c1 <> 3
GROUP BY ALL;
