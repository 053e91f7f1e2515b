-- cells of some features
SELECT
  c.n, c.y, chosen.f,
  x.code AS x,
  chosen.start + x.code AS g
FROM cells_2 AS c
JOIN (SELECT place, start, CAST(row_number() OVER (ORDER BY place) - 1 AS UINTEGER) AS f FROM chosen_7) AS chosen
  ON chosen.place = c.place
JOIN feature_values AS x ON x.place = c.place AND x.value = c.v;
