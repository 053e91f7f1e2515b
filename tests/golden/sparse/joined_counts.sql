-- counts of parts by number
SELECT names.place, v.code, k.code, summed.n
FROM summed_6 AS summed
JOIN feature_names AS names ON names.feature = summed.feature
JOIN classes AS k ON k.class = summed.class
JOIN feature_values AS v
  ON v.place = names.place
  AND v.value IS NOT DISTINCT FROM summed.value
  AND v.upper IS NOT DISTINCT FROM summed.upper
ORDER BY ALL;
