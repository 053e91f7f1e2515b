-- a prior and two factors in one table, two classes, and the key of a chain
WITH __sqlbn_rows AS MATERIALIZED (
  SELECT
    * EXCLUDE (__sqlbn_c0, __sqlbn_c1)
    , (__sqlbn_c0::UINTEGER)*4+__sqlbn_c1 AS __sqlbn_k3
    , [
      0::UINTEGER,
      1::UINTEGER + __sqlbn_c0::UINTEGER,
      4::UINTEGER + __sqlbn_c1::UINTEGER
    ] AS __sqlbn_p
  FROM (SELECT * FROM coded)
),
__sqlbn_m AS (
  SELECT
    u.__sqlbn_source_row
    , sum(t.l_0) AS __sqlbn_s0
    , sum(t.l_1) AS __sqlbn_s1
  FROM (SELECT __sqlbn_source_row, unnest(__sqlbn_p) AS key FROM __sqlbn_rows) AS u
  JOIN "model"."predict_long" AS t ON t.key = u.key
  GROUP BY u.__sqlbn_source_row
)
SELECT
  r.* EXCLUDE (__sqlbn_p)
  , s.__sqlbn_s0
  , s.__sqlbn_s1
FROM __sqlbn_rows AS r
JOIN __sqlbn_m AS s ON s.__sqlbn_source_row = r.__sqlbn_source_row;

-- the mean of two members that have a factor each
WITH __sqlbn_rows AS MATERIALIZED (
  SELECT
    * EXCLUDE (__sqlbn_c0, __sqlbn_c1)
    , [
      0::UINTEGER,
      1::UINTEGER,
      2::UINTEGER + __sqlbn_c0::UINTEGER,
      5::UINTEGER + __sqlbn_c1::UINTEGER
    ] AS __sqlbn_p
  FROM (SELECT * FROM coded)
),
__sqlbn_m AS (
  SELECT
    u.__sqlbn_source_row
    , sum(t.l_0) AS __sqlbn_s0
    , sum(t.l_1) AS __sqlbn_s1
  FROM (SELECT __sqlbn_source_row, unnest(__sqlbn_p) AS key FROM __sqlbn_rows) AS u
  JOIN "model"."predict_long" AS t ON t.key = u.key
  GROUP BY u.__sqlbn_source_row, t.member
)
SELECT
  r.* EXCLUDE (__sqlbn_p)
  , s.__sqlbn_s0
  , s.__sqlbn_s1
FROM __sqlbn_rows AS r
JOIN (
  SELECT
    __sqlbn_source_row
    , ln(greatest(sum(__sqlbn_e0 / __sqlbn_total) / 2, 1e-300)) AS __sqlbn_s0
    , ln(greatest(sum(__sqlbn_e1 / __sqlbn_total) / 2, 1e-300)) AS __sqlbn_s1
  FROM (
    SELECT *, __sqlbn_e0 + __sqlbn_e1 AS __sqlbn_total
    FROM (
      SELECT *, exp(__sqlbn_s0 - __sqlbn_top) AS __sqlbn_e0, exp(__sqlbn_s1 - __sqlbn_top) AS __sqlbn_e1
      FROM (SELECT *, greatest(__sqlbn_s0, __sqlbn_s1) AS __sqlbn_top FROM __sqlbn_m)
    )
  )
  GROUP BY __sqlbn_source_row
) AS s ON s.__sqlbn_source_row = r.__sqlbn_source_row;
