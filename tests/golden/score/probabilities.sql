-- probabilities of two classes
SELECT
  * EXCLUDE (__sqlbn_c0, __sqlbn_s0, __sqlbn_s1, __sqlbn_top)
  , CAST(CASE WHEN __sqlbn_s0 >= __sqlbn_top - 1e-10 THEN 'it''s' WHEN __sqlbn_s1 >= __sqlbn_top - 1e-10 THEN 'no' END AS VARCHAR) AS prediction
  , __sqlbn_e0 / __sqlbn_total AS "p_it's"
  , __sqlbn_e1 / __sqlbn_total AS "p_no"
FROM (
  SELECT *, __sqlbn_e0 + __sqlbn_e1 AS __sqlbn_total
  FROM (
    SELECT *, exp(__sqlbn_s0 - __sqlbn_top) AS __sqlbn_e0, exp(__sqlbn_s1 - __sqlbn_top) AS __sqlbn_e1
    FROM (
      SELECT *, greatest(__sqlbn_s0, __sqlbn_s1) AS __sqlbn_top
      FROM (SELECT * FROM scored)
    )
  )
);
