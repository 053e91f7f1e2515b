-- two attributes and naive Bayes as super parents
SELECT
  k.__sqlbn_row
  , k.__sqlbn_i0
  , p.level AS __sqlbn_level
  , (p.number::UINTEGER)*4+k.__sqlbn_p0 AS __sqlbn_k0
  , p.l_0 AS __sqlbn_s0
FROM (
  SELECT *
  FROM (
    SELECT
      __sqlbn_row
      , __sqlbn_i0
      , __sqlbn_c1::UINTEGER AS __sqlbn_p0
      , [0 + (__sqlbn_c0), 3 + (__sqlbn_c1), 7 + (0)] AS __sqlbn_base
    FROM (SELECT * FROM coded)
  )
  CROSS JOIN range(1, 4) AS t(__sqlbn_turn)
) AS k
JOIN m.predict_super AS p ON p.key = k.__sqlbn_base[k.__sqlbn_turn];
