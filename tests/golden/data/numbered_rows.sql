-- rows numbered piece by piece
SELECT
  s.* EXCLUDE (p0, p1),
  t.before - 1 + row_number() OVER (
    PARTITION BY s.p0, s.p1
    ORDER BY "kind" NULLS LAST, shuffle, row
  ) AS __sqlbn_row_number
FROM (
  SELECT *, "kind" AS p0, shuffle // 1024 AS p1
  FROM (SELECT * FROM fruit)
) AS s
JOIN pieces_3 AS t ON t.p0 IS NOT DISTINCT FROM s.p0 AND t.p1 IS NOT DISTINCT FROM s.p1;
