{# Weights that cannot be used, a whole number no smaller than the sum, and weights that are none. #}
SELECT
  count(*) FILTER (WHERE w IS NULL OR {{ is_nan }} OR {{ is_infinite }} OR w < 0),
  COALESCE(sum(TRY_CAST(ceil(w) AS HUGEINT)) FILTER (WHERE w < 1e30), 0),
  count(*) FILTER (WHERE w % 1 <> 0)
FROM (SELECT TRY_CAST({{ weight }} AS DOUBLE) AS w FROM {{ relation }} {{ where }})
