-- values of parts
SELECT
  names.place,
  CAST(row_number() OVER (PARTITION BY names.place ORDER BY found.upper, found.value) - 1 AS UINTEGER),
  found.value, found.lower, found.upper, found.n
FROM (
  SELECT
    known.feature, known.value, known.lower, known.upper,
    CAST(COALESCE(sum(summed.n), 0) AS BIGINT) AS n
  FROM (SELECT * FROM known) AS known
  LEFT JOIN summed_6 AS summed
    ON summed.feature = known.feature
    AND summed.value IS NOT DISTINCT FROM known.value
    AND summed.upper IS NOT DISTINCT FROM known.upper
  GROUP BY ALL
) AS found
JOIN feature_names AS names ON names.feature = found.feature
WHERE found.n > 0 OR found.upper IS NOT NULL
ORDER BY ALL;
