-- rows of each class of a weighted column's values
SELECT value, class, sum(w) AS n
FROM (
  SELECT i."x" AS value, i.y AS class, i.w AS w FROM t AS i
)
GROUP BY value, class
ORDER BY value NULLS LAST, class;
