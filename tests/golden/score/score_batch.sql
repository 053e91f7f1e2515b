-- a table and a chain added to the scores of two classes
SELECT
  s.* EXCLUDE (__sqlbn_k0, __sqlbn_k1, __sqlbn_s0, __sqlbn_s1)
  , s.__sqlbn_s0 + COALESCE(f1.l_0, f0.l_0) AS __sqlbn_s0
  , s.__sqlbn_s1 + COALESCE(f1.l_1, f0.l_1) AS __sqlbn_s1
FROM (SELECT * FROM scored) AS s
JOIN m.factor_0 AS f0 ON f0.key = s.__sqlbn_k0
LEFT JOIN m.factor_1 AS f1 ON f1.key = s.__sqlbn_k1;
