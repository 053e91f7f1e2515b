-- pairs of cells in rows
SELECT CAST(sum(s * (s - 1) // 2) AS BIGINT)
FROM (SELECT count(*) AS s FROM cells_2 AS c JOIN chosen_7 AS chosen ON chosen.place = c.place GROUP BY c.n);
