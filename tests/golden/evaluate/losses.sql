-- losses of two classes
SELECT
  y,
  predicted,
  sum(w) AS n,
  sum(w * (1 - p) * (1 - p)) AS squared,
  sum(w * -log_p) AS log_loss,
  sum(w * (squares - 2 * p + 1)) AS brier,
  count(*) AS n_rows
FROM (
  SELECT
    __sqlbn_y AS y,
    __sqlbn_w AS w,
    CASE WHEN __sqlbn_s0 >= __sqlbn_top - 1e-10 THEN 0 WHEN __sqlbn_s1 >= __sqlbn_top - 1e-10 THEN 1 END AS predicted,
    (CASE __sqlbn_y WHEN 0 THEN __sqlbn_e0 WHEN 1 THEN __sqlbn_e1 END) / total AS p,
    (CASE __sqlbn_y WHEN 0 THEN __sqlbn_s0 WHEN 1 THEN __sqlbn_s1 END) - __sqlbn_top - ln(total) AS log_p,
    (__sqlbn_e0 * __sqlbn_e0 + __sqlbn_e1 * __sqlbn_e1) / (total * total) AS squares
  FROM (
    SELECT *, __sqlbn_e0 + __sqlbn_e1 AS total
    FROM (
      SELECT *, exp(__sqlbn_s0 - __sqlbn_top) AS __sqlbn_e0, exp(__sqlbn_s1 - __sqlbn_top) AS __sqlbn_e1
      FROM (SELECT *, greatest(__sqlbn_s0, __sqlbn_s1) AS __sqlbn_top FROM (SELECT * FROM scored))
    )
  )
)
GROUP BY y, predicted
ORDER BY y, predicted;
