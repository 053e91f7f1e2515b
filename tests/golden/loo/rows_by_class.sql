-- training rows of two classes, two attributes, weighted
SELECT
  x0 AS __sqlbn_c0,
  x1 AS __sqlbn_c1,
  COALESCE(sum(w) FILTER (WHERE y = 0), 0) AS __sqlbn_w0,
  COALESCE(sum(w) FILTER (WHERE y = 1), 0) AS __sqlbn_w1
FROM encoded
GROUP BY ALL;
