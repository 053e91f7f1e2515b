-- a column of weights
SELECT
  count(*) FILTER (WHERE w IS NULL OR isnan(w) OR isinf(w) OR w < 0),
  count(*) FILTER (WHERE w = 0),
  COALESCE(sum(CAST(ceil(w) AS HUGEINT)) FILTER (WHERE isfinite(w) AND w >= 0 AND w < 1e30), 0)
FROM (SELECT TRY_CAST("times" AS DOUBLE) AS w FROM fruit );
