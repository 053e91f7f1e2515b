-- leave-one-out ratios of values alone, classes rotated
CREATE TABLE loo_7 AS
WITH cells AS (
  SELECT
    ((key // 6 % 3)::UINTEGER) AS cell,
    0 AS parents,
    0 AS lower_cell
    , COALESCE(sum(n) FILTER (WHERE (key % 2) = 0), 0)::DOUBLE AS n_0
    , COALESCE(sum(n) FILTER (WHERE (key % 2) = 1), 0)::DOUBLE AS n_1
  FROM "model"."counts"
  WHERE position = 3
  GROUP BY ALL
),
totals AS (
  SELECT parents, sum(n_0) AS t_0, sum(n_1) AS t_1
  FROM cells
  GROUP BY parents
),
listed AS (
  SELECT
    cell,
    lower_cell,
    [n_0, n_1] AS n,
    [t_0, t_1] AS t,
    [(n_0 + 0.25e0) / (t_0 + 1.0e0), (n_1 + 0.25e0) / (t_1 + 1.0e0)] AS p
  FROM cells JOIN totals USING (parents)
),
owned AS (
  SELECT
    cell * 2 + y AS key,
    lower_cell * 2 + y AS lower_key,
    y,
    p,
    (greatest(n[y + 1] - 1, 0) + 0.25e0) / (greatest(t[y + 1] - 1, 0) + 1.0e0) AS own,
    list_sum(n) > 1 AS usable
  FROM listed CROSS JOIN (SELECT CAST(range AS INTEGER) AS y FROM range(2))
  WHERE n[y + 1] > 0
)
SELECT
  owned.key AS key
  , CASE WHEN (y + 1) % 2 = y THEN 1e0 ELSE p[(y + 1) % 2 + 1] / own END AS r_1
FROM owned;

-- leave-one-out ratios of a value alone that is neutral where no other row has it
CREATE TABLE loo_7 AS
WITH cells AS (
  SELECT
    ((key // 6 % 3)::UINTEGER) AS cell,
    0 AS parents,
    0 AS lower_cell
    , COALESCE(sum(n) FILTER (WHERE (key % 2) = 0), 0)::DOUBLE AS n_0
    , COALESCE(sum(n) FILTER (WHERE (key % 2) = 1), 0)::DOUBLE AS n_1
  FROM "model"."counts"
  WHERE position = 3
  GROUP BY ALL
),
totals AS (
  SELECT parents, sum(n_0) AS t_0, sum(n_1) AS t_1
  FROM cells
  GROUP BY parents
),
listed AS (
  SELECT
    cell,
    lower_cell,
    [n_0, n_1] AS n,
    [t_0, t_1] AS t,
    [(n_0 + 0.25e0) / (t_0 + 1.0e0), (n_1 + 0.25e0) / (t_1 + 1.0e0)] AS p
  FROM cells JOIN totals USING (parents)
),
owned AS (
  SELECT
    cell * 2 + y AS key,
    lower_cell * 2 + y AS lower_key,
    y,
    p,
    (greatest(n[y + 1] - 1, 0) + 0.25e0) / (greatest(t[y + 1] - 1, 0) + 1.0e0) AS own,
    list_sum(n) > 1 AS usable
  FROM listed CROSS JOIN (SELECT CAST(range AS INTEGER) AS y FROM range(2))
  WHERE n[y + 1] > 0
)
SELECT
  owned.key AS key
  , CASE WHEN usable THEN CASE WHEN (y + 1) % 2 = y THEN 1e0 ELSE p[(y + 1) % 2 + 1] / own END ELSE 1e0 END AS r_1
FROM owned;

-- leave-one-out ratios with one parent, classes as they are
CREATE TABLE loo_7 AS
WITH cells AS (
  SELECT
    ((key // 6 % 3)::UINTEGER)*3+(key // 2 % 3) AS cell,
    ((key // 2 % 3)::UINTEGER) AS parents,
    ((key // 6 % 3)::UINTEGER) AS lower_cell
    , COALESCE(sum(n) FILTER (WHERE (key % 2) = 0), 0)::DOUBLE AS n_0
    , COALESCE(sum(n) FILTER (WHERE (key % 2) = 1), 0)::DOUBLE AS n_1
  FROM "model"."counts"
  WHERE position = 3
  GROUP BY ALL
),
totals AS (
  SELECT parents, sum(n_0) AS t_0, sum(n_1) AS t_1
  FROM cells
  GROUP BY parents
),
listed AS (
  SELECT
    cell,
    lower_cell,
    [n_0, n_1] AS n,
    [t_0, t_1] AS t,
    [(n_0 + 0.25e0) / (t_0 + 1.0e0), (n_1 + 0.25e0) / (t_1 + 1.0e0)] AS p
  FROM cells JOIN totals USING (parents)
),
owned AS (
  SELECT
    cell * 2 + y AS key,
    lower_cell * 2 + y AS lower_key,
    y,
    p,
    (greatest(n[y + 1] - 1, 0) + 0.25e0) / (greatest(t[y + 1] - 1, 0) + 1.0e0) AS own,
    list_sum(n) > 1 AS usable
  FROM listed CROSS JOIN (SELECT CAST(range AS INTEGER) AS y FROM range(2))
  WHERE n[y + 1] > 0
)
SELECT
  owned.key AS key
  , CASE WHEN usable THEN CASE WHEN 0 = y THEN 1e0 ELSE p[0 + 1] / own END ELSE below.r_0 END AS r_0
  , CASE WHEN usable THEN CASE WHEN 1 = y THEN 1e0 ELSE p[1 + 1] / own END ELSE below.r_1 END AS r_1
FROM owned JOIN loo_6 AS below ON below.key = owned.lower_key;

-- what leave-one-out ratios are made of, weights that are importances, back-off by parents
CREATE TABLE loo_7 AS
WITH cells AS (
  SELECT
    ((key // 6 % 3)::UINTEGER)*3+(key // 2 % 3) AS cell,
    ((key // 2 % 3)::UINTEGER) AS parents,
    ((key // 6 % 3)::UINTEGER) AS lower_cell
    , (key // 6 % 3) AS value
    , COALESCE(sum(n) FILTER (WHERE (key % 2) = 0), 0)::DOUBLE AS n_0
    , COALESCE(sum(n) FILTER (WHERE (key % 2) = 1), 0)::DOUBLE AS n_1
  FROM "model"."counts"
  WHERE position = 3
  GROUP BY ALL
),
totals AS (
  SELECT parents, sum(n_0) AS t_0, sum(n_1) AS t_1
  FROM cells
  GROUP BY parents
),
listed AS (
  SELECT
    cell,
    lower_cell,
    [n_0, n_1] AS n,
    [t_0, t_1] AS t,
    [(n_0 + 0.25e0) / (t_0 + 1.0e0), (n_1 + 0.25e0) / (t_1 + 1.0e0)] AS p
    , sum(n_0 + n_1) OVER (PARTITION BY value) AS everywhere
  FROM cells JOIN totals USING (parents)
),
owned AS (
  SELECT
    cell * 2 + y AS key,
    lower_cell * 2 + y AS lower_key,
    y,
    p,
    n[y + 1] AS own_n,
    t[y + 1] AS own_t,
    least(list_sum(t), everywhere) AS alone
  FROM listed CROSS JOIN (SELECT CAST(range AS INTEGER) AS y FROM range(2))
  WHERE n[y + 1] > 0
)
SELECT
  owned.key AS key
  , own_n AS n
  , own_t AS t
  , owned.alone AS alone
  , p[(y + 1) % 2 + 1] AS q_1
  , CASE WHEN (y + 1) % 2 = y OR own_n < owned.alone THEN 1e0
    WHEN owned.alone < below.alone THEN below.q_1 * ((below.t - owned.alone) + 1.0e0) / ((below.n - owned.alone) + 0.25e0)
    ELSE below.r_1 END AS r_1
FROM owned JOIN loo_6 AS below ON below.key = owned.lower_key;
