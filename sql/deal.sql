{# Rows with a place each in a shuffled order: folds and training sets are ranges of places. #}
SELECT
  {% for column in columns %}
  {{ column | id }},
  {% endfor %}
  row_key AS {{ row_name }},
  row_number() OVER (ORDER BY {{ "" ~ first ~ ", " if first }}shuffle, row_key) - 1 AS {{ place_name }}
FROM (
  SELECT {% for column in columns %}{{ column | id }}, {% endfor %}{{ row_key }} AS row_key, {{ shuffle }} AS shuffle
  FROM {{ relation }}
  {{ where }}
)
