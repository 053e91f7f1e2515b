{# A feature that two models cut in different ways, if there is one. #}
SELECT any_value(feature)
FROM (
  SELECT feature, list(upper ORDER BY upper) AS cuts, bool_or(upper IS NULL) AS has_values
  FROM ({{ one }}) GROUP BY feature
) AS one
JOIN (
  SELECT feature, list(upper ORDER BY upper) AS cuts, bool_or(upper IS NULL) AS has_values
  FROM ({{ other }}) GROUP BY feature
) AS other USING (feature)
WHERE one.has_values <> other.has_values OR (NOT one.has_values AND one.cuts <> other.cuts)
