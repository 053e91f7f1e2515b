-- rows in the order of their odds
SELECT
  max(own) AS own,
  sum(CAST(own - own_before AS HUGEINT) * (other + other_before)) AS mixed,
  sum(CAST((own - own_before) * CAST(own AS DOUBLE) / CAST(own + other AS DOUBLE) * 1152921504606846976e0 AS HUGEINT)) AS precision_sum
FROM (
  SELECT
    own,
    other,
    lag(own, 1, 0) OVER (ORDER BY odds DESC) AS own_before,
    lag(other, 1, 0) OVER (ORDER BY odds DESC) AS other_before
  FROM (
    SELECT
      odds,
      sum(own) OVER above AS own,
      sum(other) OVER above AS other,
      odds - lead(odds) OVER above AS gap
    FROM odds
    WINDOW above AS (ORDER BY odds DESC ROWS UNBOUNDED PRECEDING)
  )
  WHERE gap IS NULL OR gap > 1e-10
);
