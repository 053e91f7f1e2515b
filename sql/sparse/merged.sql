{# Cells whose features have become one by projection: numbers are added up, in the order of their
   size, so that the sum does not depend on that of the rows. #}
SELECT
  r,
  f
  {% if is_number %}
  , sum(v ORDER BY v) AS v
  {% endif %}
FROM ({{ cells }})
GROUP BY r, f
