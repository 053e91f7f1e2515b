-- rows of every value, parent and class that occur
SELECT
  x0 AS __sqlbn_c0,
  x3 AS __sqlbn_c3,
  y AS __sqlbn_y,
  count(*) AS __sqlbn_w
FROM encoded_3
GROUP BY ALL;
