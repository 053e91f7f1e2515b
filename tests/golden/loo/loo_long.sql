-- leave-one-out in the long form, every prefix
SELECT
  y, w
  , place
  , ln(prior.r_1) + l1 AS l1
FROM (
  SELECT
    u.y,
    u.w,
    u.row
    , t.place
    , sum(t.l_1) OVER (PARTITION BY u.row ORDER BY t.place ROWS UNBOUNDED PRECEDING) AS l1
  FROM (
    SELECT
      y,
      w,
      row,
      unnest([0::UINTEGER + ((x0::UINTEGER)*2+y), 6::UINTEGER + x1]) AS key
    FROM (SELECT y, w, x0, x1, row_number() OVER () AS row FROM encoded)
  ) AS u
  JOIN loo_long_3 AS t ON t.key = u.key
) AS s
JOIN loo_prior AS prior ON prior.key = s.y;

-- leave-one-out in the long form, all attributes
SELECT
  y
  , ln(prior.r_1) + l1 AS l1
FROM (
  SELECT
    u.y,
    u.row
    , sum(t.l_1) AS l1
  FROM (
    SELECT
      y,
      row,
      unnest([0::UINTEGER + ((x0::UINTEGER)*2+y)]) AS key
    FROM (SELECT y, x0, row_number() OVER () AS row FROM encoded)
  ) AS u
  JOIN loo_long_3 AS t ON t.key = u.key
  GROUP BY u.y, u.row
) AS s
JOIN loo_prior AS prior ON prior.key = s.y;
