-- totals of values
SELECT place, v, y, CAST(count(*) AS BIGINT) AS n
FROM cells_2
GROUP BY ALL;
