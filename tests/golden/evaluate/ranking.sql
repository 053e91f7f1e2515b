-- rows ordered by the odds of the second of two classes, weights in quarters
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
    FROM (
      SELECT
        odds,
        CAST(coalesce(sum(w) FILTER (WHERE y = 1), 0) * 4 AS BIGINT) AS own,
        CAST(coalesce(sum(w) FILTER (WHERE y <> 1), 0) * 4 AS BIGINT) AS other
      FROM (SELECT __sqlbn_y AS y, __sqlbn_w AS w, __sqlbn_s1 - __sqlbn_s0 AS odds FROM judged)
      WHERE
        y < 2
        AND odds >= (SELECT min(__sqlbn_s1 - __sqlbn_s0) - 1e-10 FROM judged WHERE __sqlbn_y = 1)
      GROUP BY odds
    )
    WINDOW above AS (ORDER BY odds DESC ROWS UNBOUNDED PRECEDING)
  )
  WHERE gap IS NULL OR gap > 1e-10
);
