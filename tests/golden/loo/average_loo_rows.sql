-- a chunk of rows in which attribute 0 may imply attribute 1
SELECT
  e.rowid AS r
  , e.y
  , e.x0
  , e.x1
  , CASE WHEN t0.i_1 = e.x1 THEN 1 ELSE 3 END::USMALLINT AS g1
FROM encoded AS e
JOIN loo_9 AS t0 ON t0.key = (e.x0::UINTEGER)*2+e.y
WHERE e.rowid >= 0 AND e.rowid < 100;
