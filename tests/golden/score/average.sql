-- two classes and the sums of their super parents
SELECT
  __sqlbn_i0,
  ln(greatest(z0[1] + COALESCE(z0[2] * exp((ranks[2] - ranks[1]) * 512e0), 0), 1e-300)) AS __sqlbn_s0,
  ln(greatest(z1[1] + COALESCE(z1[2] * exp((ranks[2] - ranks[1]) * 512e0), 0), 1e-300)) AS __sqlbn_s1
FROM (
  SELECT
    any_value(__sqlbn_i0) AS __sqlbn_i0,
    max(__sqlbn_rank, 2) AS ranks
    , arg_max(z0, __sqlbn_rank, 2) AS z0
    , arg_max(z1, __sqlbn_rank, 2) AS z1
  FROM (SELECT * FROM sums)
  GROUP BY __sqlbn_row
);
