-- seen cells of a sparse term, missing values ignored
INSERT INTO "model"."factor_3"
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
SELECT 12::BIGINT + cells.key
  , 0.5e0 * (cells.n_0 + 1.0e0) / (parents.n_0 + 3.0e0)
  , 0.5e0 * (cells.n_1 + 1.0e0) / (parents.n_1 + 3.0e0)
FROM cells JOIN parents USING (parents_key)
ORDER BY 1;

-- seen parents of a sparse term
INSERT INTO "model"."factor_3"
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
SELECT 12::BIGINT + parents_key
  , 0.5e0 * 1.0e0 / (n_0 + 3.0e0)
  , 0.5e0 * 1.0e0 / (n_1 + 3.0e0)
FROM parents
ORDER BY 1;
