{# Rows of one class against all others, ordered by the odds of that class: its weight, twice the
   weight of pairs in the wrong order (ties count half), and the sum of precisions at its rows. Odds
   that a chain of steps no longer than `tie` connects are one threshold; others below the last row
   of the class play no part. Sums are of whole numbers: the same in any order of adding. #}
SELECT
  max(own) AS own,
  sum(CAST(own - own_before AS HUGEINT) * (other + other_before)) AS mixed,
  sum(CAST((own - own_before) * CAST(own AS DOUBLE) / CAST(own + other AS DOUBLE) * {{ precision_unit }} AS HUGEINT)) AS precision_sum
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
    FROM {{ different }}
    WINDOW above AS (ORDER BY odds DESC ROWS UNBOUNDED PRECEDING)
  )
  WHERE gap IS NULL OR gap > {{ tie }}
)
