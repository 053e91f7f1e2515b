-- three factors in one table, two classes, and the key of a chain
WITH __sqlbn_rows AS MATERIALIZED (
  SELECT
    * EXCLUDE (__sqlbn_c0, __sqlbn_c1)
    , (__sqlbn_c0::UINTEGER)*4+__sqlbn_c1 AS __sqlbn_k3
    , [
      0::UINTEGER + __sqlbn_c0::UINTEGER,
      3::UINTEGER + __sqlbn_c1::UINTEGER
    ] AS __sqlbn_p
  FROM (SELECT * FROM coded)
)
SELECT
  r.* EXCLUDE (__sqlbn_p)
  , s.__sqlbn_s0
  , s.__sqlbn_s1
FROM __sqlbn_rows AS r
JOIN (
  SELECT
    u.__sqlbn_source_row
    , -0.5e0 + sum(t.l_0) AS __sqlbn_s0
    , -0.9e0 + sum(t.l_1) AS __sqlbn_s1
  FROM (SELECT __sqlbn_source_row, unnest(__sqlbn_p) AS key FROM __sqlbn_rows) AS u
  JOIN "model"."predict_long" AS t ON t.key = u.key
  GROUP BY u.__sqlbn_source_row
) AS s ON s.__sqlbn_source_row = r.__sqlbn_source_row;
