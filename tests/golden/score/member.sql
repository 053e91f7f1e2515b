-- the second member of an ensemble, two classes
SELECT
  * EXCLUDE (__sqlbn_s0, __sqlbn_s1, __sqlbn_m0, __sqlbn_m1)
  , __sqlbn_m0 + __sqlbn_e0 / __sqlbn_total AS __sqlbn_m0
  , __sqlbn_m1 + __sqlbn_e1 / __sqlbn_total AS __sqlbn_m1
FROM (
  SELECT *, __sqlbn_e0 + __sqlbn_e1 AS __sqlbn_total
  FROM (
    SELECT *, exp(__sqlbn_s0 - __sqlbn_top) AS __sqlbn_e0, exp(__sqlbn_s1 - __sqlbn_top) AS __sqlbn_e1
    FROM (
      SELECT *, greatest(__sqlbn_s0, __sqlbn_s1) AS __sqlbn_top
      FROM (SELECT * FROM scored)
    )
  )
)
OFFSET 0;
