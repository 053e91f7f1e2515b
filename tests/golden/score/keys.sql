-- one key and the scores to start from
SELECT
  * EXCLUDE (__sqlbn_c0, __sqlbn_c1)
  , (__sqlbn_c0::UINTEGER)*4+__sqlbn_c1 AS __sqlbn_k0
  , -0.5e0 AS __sqlbn_s0
  , -0.9e0 AS __sqlbn_s1
FROM (SELECT * FROM coded);
