{# Rows with their class and log scores; one without cells is one without any feature. #}
SELECT
  rows.y AS {{ names.y }},
  1 AS {{ names.w }}
  {% for start in starts %}
  , COALESCE(s.{{ names.score }}{{ loop.index0 }}, {{ start }}) AS {{ names.score }}{{ loop.index0 }}
  {% endfor %}
FROM {{ rows }} AS rows
LEFT JOIN ({{ scores }}) AS s ON s.r = rows.id
