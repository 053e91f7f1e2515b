{# The values of all parts with their codes; intervals stay, other values that no cell has go. #}
SELECT
  names.place,
  CAST(row_number() OVER (PARTITION BY names.place ORDER BY {{ order }}) - 1 AS UINTEGER),
  found.value, found.lower, found.upper, found.n
FROM (
  SELECT
    known.feature, known.value, known.lower, known.upper,
    CAST(COALESCE(sum(summed.n), 0) AS BIGINT) AS n
  FROM ({{ known }}) AS known
  LEFT JOIN {{ summed }} AS summed
    ON summed.feature = known.feature
    AND summed.value IS NOT DISTINCT FROM known.value
    AND summed.upper IS NOT DISTINCT FROM known.upper
  GROUP BY ALL
) AS found
JOIN {{ names }} AS names ON names.feature = found.feature
WHERE found.n > 0 OR found.upper IS NOT NULL
ORDER BY ALL
