-- the first batch of a leave-one-out pass
SELECT
  e.y, e.w
  , (e.x0::UINTEGER)*2+e.y AS k0
  , prior.r_1 AS r1
FROM encoded AS e
JOIN loo_prior AS prior ON prior.key = e.y;
