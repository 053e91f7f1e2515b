-- scored rows of two classes one by one
SELECT
  CAST(__sqlbn_source_row AS BIGINT) AS "row",
  CASE __sqlbn_y WHEN 0 THEN 'no' WHEN 1 THEN 'yes' END AS "class",
  CASE WHEN __sqlbn_s0 >= __sqlbn_top - 1e-10 THEN 'no' WHEN __sqlbn_s1 >= __sqlbn_top - 1e-10 THEN 'yes' END AS predicted,
  coalesce(exp((CASE __sqlbn_y WHEN 0 THEN __sqlbn_s0 WHEN 1 THEN __sqlbn_s1 END) - __sqlbn_top) / (exp(__sqlbn_s0 - __sqlbn_top) + exp(__sqlbn_s1 - __sqlbn_top)), 0) AS p_true
FROM (SELECT *, greatest(__sqlbn_s0, __sqlbn_s1) AS __sqlbn_top FROM scored_7);
