-- the squared error before and after an attribute
SELECT
  r, y
  , COALESCE(max(e0) FILTER (WHERE level = 1), max(e0) FILTER (WHERE level = 0)) AS e0
  , COALESCE(max(e1) FILTER (WHERE level = 1), max(e1) FILTER (WHERE level = 0)) AS e1
FROM (
  SELECT
    r, level, y
    , CASE WHEN o0 + x0 > 0 THEN 1 - o0 / (o0 + x0) END AS e0
    , CASE WHEN o1 + x1 > 0 THEN 1 - o1 / (o1 + x1) END AS e1
  FROM (
    SELECT
      r, level, y
      , sum(o0) AS o0
      , sum(x0) AS x0
      , sum(o1) AS o1
      , sum(x1) AS x1
    FROM (SELECT * FROM terms)
    GROUP BY r, level, y
  )
)
GROUP BY r, y;
