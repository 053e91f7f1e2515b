-- classes and scores of rows
SELECT
  rows.y AS __sqlbn_y,
  1 AS __sqlbn_w
  , COALESCE(s.__sqlbn_s0, -1.5e0) AS __sqlbn_s0
  , COALESCE(s.__sqlbn_s1, -0.5e0) AS __sqlbn_s1
FROM rows_1 AS rows
LEFT JOIN (SELECT * FROM scored) AS s ON s.r = rows.id;
