{# The counts of values by feature and class. #}
SELECT x.place, x.code, c.y, sum(c.n)
FROM {{ totals }} AS c
JOIN {{ values }} AS x ON x.place = c.place AND {{ match }}
GROUP BY x.place, x.code, c.y
ORDER BY x.place, x.code, c.y
