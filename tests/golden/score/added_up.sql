-- the terms of a collection added up by attribute
SELECT
  __sqlbn_row, __sqlbn_child
  , any_value(__sqlbn_i0) AS __sqlbn_i0
  , sum(__sqlbn_s0) AS __sqlbn_s0
  , sum(__sqlbn_s1) AS __sqlbn_s1
FROM (SELECT * FROM terms)
GROUP BY __sqlbn_row, __sqlbn_child;
