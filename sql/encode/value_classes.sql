{# How many rows of every class each value of a column has; values in order, missing last. #}
SELECT value, class, {{ total }} AS n
FROM (
  {{ labelled }}
)
GROUP BY value, class
ORDER BY value NULLS LAST, class
