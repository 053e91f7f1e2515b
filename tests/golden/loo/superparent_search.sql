-- the probability of training rows of two classes
SELECT
  sum(
    (__sqlbn_w0 * __sqlbn_e0 + __sqlbn_w1 * __sqlbn_e1)
    / (__sqlbn_e0 + __sqlbn_e1)
  )
FROM (
  SELECT
    __sqlbn_w0,
    exp(__sqlbn_s0 - __sqlbn_top) AS __sqlbn_e0,
    __sqlbn_w1,
    exp(__sqlbn_s1 - __sqlbn_top) AS __sqlbn_e1
  FROM (
    SELECT
      r.*, t.* EXCLUDE (__sqlbn_row),
      greatest(t.__sqlbn_s0, t.__sqlbn_s1) AS __sqlbn_top
    FROM rows_8 AS r
    JOIN (SELECT * FROM scored) AS t ON t.__sqlbn_row = r.__sqlbn_row
  )
);
