-- back-off by cell
CREATE TABLE "model"."factor_3" AS
WITH cells AS (
  SELECT
    (c0::UINTEGER)*4+c1 AS key,
    c1::UINTEGER AS parents_key
    , COALESCE(sum(n) FILTER (WHERE y = 0), 0) AS n_0
    , COALESCE(sum(n) FILTER (WHERE y = 1), 0) AS n_1
  FROM (
    SELECT
      (key // 6 % 3) AS c0,
      (key // 2 % 3) AS c1,
      (key % 2) AS y,
      n
    FROM "model"."counts"
    WHERE position = 3
  )
  GROUP BY ALL
),
parents AS (
  SELECT
    parents_key
    , sum(n_0) AS n_0
    , sum(n_1) AS n_1
  FROM cells
  GROUP BY parents_key
)
SELECT cells.key AS key
  , ln((cells.n_0 + 0.25e0) / (parents.n_0 + 1.0e0)) AS l_0
  , ln((cells.n_1 + 0.25e0) / (parents.n_1 + 1.0e0)) AS l_1
FROM cells JOIN parents USING (parents_key)
ORDER BY key;

-- back-off by parents
CREATE TABLE "model"."factor_3" AS
WITH cells AS (
  SELECT
    (c0::UINTEGER)*4+c1 AS key,
    c1::UINTEGER AS parents_key
    , COALESCE(sum(n) FILTER (WHERE y = 0), 0) AS n_0
    , COALESCE(sum(n) FILTER (WHERE y = 1), 0) AS n_1
  FROM (
    SELECT
      (key // 6 % 3) AS c0,
      (key // 2 % 3) AS c1,
      (key % 2) AS y,
      n
    FROM "model"."counts"
    WHERE position = 3
  )
  GROUP BY ALL
),
parents AS (
  SELECT
    parents_key
    , sum(n_0) AS n_0
    , sum(n_1) AS n_1
  FROM cells
  GROUP BY parents_key
)
SELECT parents_key AS key
  , ln(0.25e0 / (n_0 + 1.0e0)) AS l_0
  , ln(0.25e0 / (n_1 + 1.0e0)) AS l_1
FROM parents
ORDER BY key;

-- no back-off, missing values ignored
CREATE TABLE "model"."factor_3" AS
WITH cells AS (
  SELECT
    (c0::UINTEGER)*4+c1 AS key,
    c1::UINTEGER AS parents_key
    , COALESCE(sum(n) FILTER (WHERE y = 0), 0) AS n_0
    , COALESCE(sum(n) FILTER (WHERE y = 1), 0) AS n_1
  FROM (
    SELECT
      (key // 6 % 3) AS c0,
      (key // 2 % 3) AS c1,
      (key % 2) AS y,
      n
    FROM "model"."counts"
    WHERE position = 3
  )
  WHERE c0 <> 2
  AND c1 <> 3
  GROUP BY ALL
),
parents AS (
  SELECT
    parents_key
    , sum(n_0) AS n_0
    , sum(n_1) AS n_1
  FROM cells
  GROUP BY parents_key
)
SELECT parents_key AS key
  , ln(0.25e0 / (n_0 + 1.0e0)) AS l_0
  , ln(0.25e0 / (n_1 + 1.0e0)) AS l_1
FROM parents
UNION ALL
SELECT 3, 0, 0
ORDER BY key;
