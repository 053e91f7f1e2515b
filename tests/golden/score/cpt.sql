-- an attribute with one parent, levels mixed
WITH cells AS (
  SELECT
    (key // 6 % 3) AS c0,
    (key // 2 % 3) AS c1,
    (key % 2) AS y,
    n
  FROM "m".counts
  WHERE position = 1
),
seen AS (
  SELECT DISTINCT c0, c1
  FROM cells
),
totals AS (
  SELECT y, c1, sum(n) AS n
  FROM cells
  GROUP BY ALL
)
, cells0 AS (
  SELECT y, c0, sum(n) AS n
  FROM cells
  GROUP BY ALL
),
totals0 AS (
  SELECT y, sum(n) AS n
  FROM cells
  GROUP BY ALL
)
, cells1 AS (
  SELECT y, c0, c1, sum(n) AS n
  FROM cells
  GROUP BY ALL
),
totals1 AS (
  SELECT y, c1, sum(n) AS n
  FROM cells
  GROUP BY ALL
)
SELECT
  v0.label AS "colour",
  v1.label AS "size",
  k.class AS class,
  COALESCE(cells.n, 0) AS n,
  (COALESCE(n1.n, 0) + 4.0 * 0.5) / (COALESCE(t1.n, 0) + 4.0) AS probability
FROM seen
CROSS JOIN "m".classes AS k
LEFT JOIN cells
  ON cells.y = k.code AND cells.c0 = seen.c0 AND cells.c1 = seen.c1
LEFT JOIN totals
  ON totals.y = k.code AND totals.c1 = seen.c1
LEFT JOIN cells0 AS n0
  ON n0.y = k.code AND n0.c0 = seen.c0
LEFT JOIN totals0 AS t0
  ON t0.y = k.code
LEFT JOIN cells1 AS n1
  ON n1.y = k.code AND n1.c0 = seen.c0 AND n1.c1 = seen.c1
LEFT JOIN totals1 AS t1
  ON t1.y = k.code AND t1.c1 = seen.c1
LEFT JOIN (
  SELECT code, value AS label FROM "m".categories WHERE attribute = 'colour'
) AS v0 ON v0.code = seen.c0
LEFT JOIN (
  SELECT code, label AS label FROM "m".cuts WHERE attribute = 'size'
) AS v1 ON v1.code = seen.c1
ORDER BY seen.c1, seen.c0, k.code;

-- an attribute with one parent, both with odd names
WITH cells AS (
  SELECT
    (key // 6 % 3) AS c0,
    (key // 2 % 3) AS c1,
    (key % 2) AS y,
    n
  FROM "m".counts
  WHERE position = 1
  AND (key // 6 % 3) <> 2
),
seen AS (
  SELECT DISTINCT c0, c1
  FROM cells
),
totals AS (
  SELECT y, c1, sum(n) AS n
  FROM cells
  GROUP BY ALL
)
SELECT
  v0.label AS "it's ""it""",
  v1.label AS "class_",
  k.class AS class,
  COALESCE(cells.n, 0) AS n,
  (COALESCE(cells.n, 0) + 0.5e0) / (COALESCE(totals.n, 0) + 1.0e0) AS probability
FROM seen
CROSS JOIN "m".classes AS k
LEFT JOIN cells
  ON cells.y = k.code AND cells.c0 = seen.c0 AND cells.c1 = seen.c1
LEFT JOIN totals
  ON totals.y = k.code AND totals.c1 = seen.c1
LEFT JOIN (
  SELECT code, value AS label FROM "m".categories WHERE attribute = 'it''s "it"'
) AS v0 ON v0.code = seen.c0
LEFT JOIN (
  SELECT code, label AS label FROM "m".cuts WHERE attribute = 'class'
) AS v1 ON v1.code = seen.c1
ORDER BY seen.c1, seen.c0, k.code;
