-- odds of the second of two classes, weights in quarters
SELECT
  1 AS code,
  odds,
  CAST(coalesce(sum(w) FILTER (WHERE y = 1), 0) * 4 AS BIGINT) AS own,
  CAST(coalesce(sum(w) FILTER (WHERE y <> 1), 0) * 4 AS BIGINT) AS other
FROM (SELECT __sqlbn_y AS y, __sqlbn_w AS w, __sqlbn_s1 - __sqlbn_s0 AS odds FROM judged)
WHERE
  y < 2
  AND odds >= (SELECT min(__sqlbn_s1 - __sqlbn_s0) - 1e-10 FROM judged WHERE __sqlbn_y = 1)
GROUP BY odds;
