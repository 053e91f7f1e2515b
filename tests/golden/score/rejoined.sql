-- rows of two classes, scored once where they are equal
SELECT
  r.* EXCLUDE (__sqlbn_c0, __sqlbn_c1, __sqlbn_i0)
  , t.__sqlbn_s0
  , t.__sqlbn_s1
FROM (
  SELECT *, (__sqlbn_c0::UINTEGER)*4+__sqlbn_c1 AS __sqlbn_i0
  FROM (SELECT * FROM coded)
) AS r
JOIN (
  SELECT * FROM scored
) AS t ON t.__sqlbn_i0 = r.__sqlbn_i0;
