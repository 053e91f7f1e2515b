{# How many pairs of cells of the first features by information meet in a row. #}
SELECT CAST(sum(s * (s - 1) // 2) AS BIGINT)
FROM (SELECT count(*) AS s FROM {{ cells }} AS c JOIN {{ chosen }} AS chosen ON chosen.place = c.place GROUP BY c.n)
