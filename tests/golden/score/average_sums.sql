-- sums of two classes over super parents
SELECT
  __sqlbn_row,
  __sqlbn_rank,
  any_value(__sqlbn_i0) AS __sqlbn_i0,
  sum(exp(__sqlbn_s0 - __sqlbn_step * 512e0)) AS z0,
  sum(exp(__sqlbn_s1 - __sqlbn_step * 512e0)) AS z1
FROM (
  SELECT *, __sqlbn_level::BIGINT * 4294967296 + __sqlbn_step AS __sqlbn_rank
  FROM (
    SELECT *, floor(greatest(__sqlbn_s0, __sqlbn_s1) / 512e0)::BIGINT AS __sqlbn_step
    FROM (SELECT * FROM terms)
  )
)
GROUP BY __sqlbn_row, __sqlbn_rank;
