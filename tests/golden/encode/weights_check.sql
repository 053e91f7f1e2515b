-- a column of weights
SELECT
  count(*) FILTER (WHERE w IS NULL OR isnan(even(w)) OR isinf(w) OR w < 0),
  COALESCE(sum(TRY_CAST(ceil(w) AS HUGEINT)) FILTER (WHERE w < 1e30), 0),
  count(*) FILTER (WHERE w % 1 <> 0)
FROM (SELECT TRY_CAST("times" AS DOUBLE) AS w FROM fruit );
