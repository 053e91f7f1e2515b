-- rows in the order of their odds, piece by piece
WITH different AS (
  SELECT CAST(floor(greatest(least(odds, 1e9), -1e9) * 16) AS BIGINT) AS piece, code, odds, own, other
  FROM odds
),
pieces AS (
  SELECT
    code,
    piece,
    coalesce(sum(own) OVER earlier, 0) AS own_above,
    coalesce(sum(other) OVER earlier, 0) AS other_above,
    lead(top) OVER (PARTITION BY code ORDER BY piece DESC) AS next_top
  FROM (
    SELECT code, piece, sum(own) AS own, sum(other) AS other, max(odds) AS top
    FROM different
    GROUP BY code, piece
  )
  WINDOW earlier AS (PARTITION BY code ORDER BY piece DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
thresholds AS (
  SELECT code, piece, odds, own, other
  FROM (
    SELECT
      d.code,
      d.piece,
      d.odds,
      p.own_above + sum(d.own) OVER above AS own,
      p.other_above + sum(d.other) OVER above AS other,
      d.odds - coalesce(lead(d.odds) OVER (PARTITION BY d.code, d.piece ORDER BY d.odds DESC), p.next_top) AS gap
    FROM different AS d
    JOIN pieces AS p ON p.code = d.code AND p.piece = d.piece
    WINDOW above AS (PARTITION BY d.code, d.piece ORDER BY d.odds DESC ROWS UNBOUNDED PRECEDING)
  )
  WHERE gap IS NULL OR gap > 1e-10
),
ends AS (
  SELECT
    code,
    piece,
    coalesce(max(own) OVER earlier, 0) AS own_above,
    coalesce(max(other) OVER earlier, 0) AS other_above
  FROM (SELECT code, piece, max(own) AS own, max(other) AS other FROM thresholds GROUP BY code, piece)
  WINDOW earlier AS (PARTITION BY code ORDER BY piece DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT
  code,
  max(own) AS own,
  sum(CAST(own - own_before AS HUGEINT) * (other + other_before)) AS mixed,
  sum(CAST((own - own_before) * CAST(own AS DOUBLE) / CAST(own + other AS DOUBLE) * 1152921504606846976e0 AS HUGEINT)) AS precision_sum
FROM (
  SELECT
    t.code,
    t.own,
    t.other,
    coalesce(lag(t.own) OVER (PARTITION BY t.code, t.piece ORDER BY t.odds DESC), e.own_above) AS own_before,
    coalesce(lag(t.other) OVER (PARTITION BY t.code, t.piece ORDER BY t.odds DESC), e.other_above) AS other_before
  FROM thresholds AS t
  JOIN ends AS e ON e.code = t.code AND e.piece = t.piece
)
GROUP BY code
ORDER BY code;
