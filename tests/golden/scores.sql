-- scores of two classes from a table and a chain
SELECT
  c.*
  , -0.5e0 + COALESCE(f1.l_0, f0.l_0) AS __sqlbn_s0
  , -0.9e0 + COALESCE(f1.l_1, f0.l_1) AS __sqlbn_s1
FROM (
  SELECT
    i.*
    , d0.code AS __sqlbn_c0
  FROM fruit AS i
  LEFT JOIN categories AS d0 ON d0.value = i."colour"
) AS c
JOIN m.factor_0 AS f0 ON f0.key = c.__sqlbn_c0
LEFT JOIN m.factor_1 AS f1 ON f1.key = 0::UINTEGER;
