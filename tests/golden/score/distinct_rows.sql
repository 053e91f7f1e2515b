-- rows in which attribute 0 may imply attribute 1
SELECT
  s.__sqlbn_row
  , (__sqlbn_c0::UINTEGER)*4+__sqlbn_c1 AS __sqlbn_i0
  , s.__sqlbn_c0 AS __sqlbn_c0
  , CASE WHEN t0.i_1 = s.__sqlbn_c1 THEN 4 ELSE s.__sqlbn_c1 END AS __sqlbn_c1
FROM (
  SELECT *, row_number() OVER () AS __sqlbn_row
  FROM (SELECT DISTINCT __sqlbn_c0, __sqlbn_c1 FROM (SELECT * FROM coded))
) AS s
JOIN m.predict_implied_0 AS t0 ON t0.key = s.__sqlbn_c0;
