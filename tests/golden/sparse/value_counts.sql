-- counts of values
SELECT x.place, x.code, c.y, sum(c.n)
FROM totals_3 AS c
JOIN feature_values AS x ON x.place = c.place AND x.value = c.v
GROUP BY x.place, x.code, c.y
ORDER BY x.place, x.code, c.y;
