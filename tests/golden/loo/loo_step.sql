-- two attributes of a leave-one-out pass
SELECT
  y, k2
  , 1 - 1 / (1 + q0_1) AS e1
  , 1 - 1 / (1 + q1_1) AS e2
  , q1_1 AS r1
FROM (
  SELECT
    s.y, s.k2
    , s.r1 * f0.r_1 AS q0_1
    , s.r1 * f0.r_1 * f1.r_1 AS q1_1
  FROM (SELECT * FROM started) AS s
  JOIN loo_4 AS f0 ON f0.key = s.k0
  JOIN read_parquet('loo_5.parquet') AS f1 ON f1.key = s.k1
);
