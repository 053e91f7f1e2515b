-- the geometric mean of three members, two classes
SELECT
  * EXCLUDE (__sqlbn_m0, __sqlbn_m1)
  , __sqlbn_m0 / 3 AS __sqlbn_s0
  , __sqlbn_m1 / 3 AS __sqlbn_s1
FROM (SELECT * FROM summed);
