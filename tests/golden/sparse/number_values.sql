-- parts of numbers
WITH counted AS (
  SELECT place, v, sum(n) AS n FROM totals_3 GROUP BY place, v
),
ranked AS (
  SELECT
    place, v, n,
    sum(n) OVER (PARTITION BY place ORDER BY v) AS below,
    sum(n) OVER (PARTITION BY place) AS total,
    false AS is_few,
    false AS is_known
  FROM counted
),
cuts AS (
  SELECT place, v AS upper
  FROM ranked
  WHERE NOT is_few AND NOT is_known AND below < total AND below * 5 // total > (below - n) * 5 // total
  UNION ALL
  SELECT DISTINCT place, CAST('inf' AS DOUBLE) FROM ranked WHERE NOT is_few AND NOT is_known
),
intervals AS (
  SELECT
    place, upper,
    lag(upper, 1, CAST('-inf' AS DOUBLE)) OVER (PARTITION BY place ORDER BY upper) AS lower,
    CAST(row_number() OVER (PARTITION BY place ORDER BY upper) - 1 AS UINTEGER) AS code
  FROM cuts
)
SELECT
  place,
  CAST(row_number() OVER (PARTITION BY place ORDER BY v) - 1 AS UINTEGER) AS code,
  CAST(TRY_CAST(v AS BIGINT) AS VARCHAR) AS value,
  CAST(NULL AS DOUBLE) AS lower,
  CAST(NULL AS DOUBLE) AS upper,
  n
FROM ranked
WHERE is_few
UNION ALL
SELECT i.place, i.code, NULL, i.lower, i.upper, COALESCE(sum(c.n), 0)
FROM intervals AS i
LEFT JOIN counted AS c ON c.place = i.place AND c.v > i.lower AND c.v <= i.upper
GROUP BY ALL;

-- parts of numbers of a known model
WITH counted AS (
  SELECT place, v, sum(n) AS n FROM totals_3 GROUP BY place, v
),
ranked AS (
  SELECT
    place, v, n,
    sum(n) OVER (PARTITION BY place ORDER BY v) AS below,
    sum(n) OVER (PARTITION BY place) AS total,
    COALESCE(known.is_few, count(*) OVER (PARTITION BY place) <= 32) AS is_few,
    known.place IS NOT NULL AS is_known
  FROM counted
  LEFT JOIN (SELECT place, bool_and(upper IS NULL) AS is_few FROM (SELECT place, upper FROM known) GROUP BY place) AS known USING (place)
),
cuts AS (
  SELECT place, v AS upper
  FROM ranked
  WHERE NOT is_few AND NOT is_known AND below < total AND below * 5 // total > (below - n) * 5 // total
  UNION ALL
  SELECT DISTINCT place, CAST('inf' AS DOUBLE) FROM ranked WHERE NOT is_few AND NOT is_known
  UNION ALL
  SELECT place, upper FROM (SELECT place, upper FROM known) WHERE upper IS NOT NULL
),
intervals AS (
  SELECT
    place, upper,
    lag(upper, 1, CAST('-inf' AS DOUBLE)) OVER (PARTITION BY place ORDER BY upper) AS lower,
    CAST(row_number() OVER (PARTITION BY place ORDER BY upper) - 1 AS UINTEGER) AS code
  FROM cuts
)
SELECT
  place,
  CAST(row_number() OVER (PARTITION BY place ORDER BY v) - 1 AS UINTEGER) AS code,
  CAST(TRY_CAST(v AS BIGINT) AS VARCHAR) AS value,
  CAST(NULL AS DOUBLE) AS lower,
  CAST(NULL AS DOUBLE) AS upper,
  n
FROM ranked
WHERE is_few
UNION ALL
SELECT i.place, i.code, NULL, i.lower, i.upper, COALESCE(sum(c.n), 0)
FROM intervals AS i
LEFT JOIN counted AS c ON c.place = i.place AND c.v > i.lower AND c.v <= i.upper
GROUP BY ALL;
