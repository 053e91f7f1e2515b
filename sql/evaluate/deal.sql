{# Rows with a place each in a shuffled order, or with what gives it to them: folds and training sets
   are ranges of places. #}
SELECT
  {% for column in columns %}
  {{ column | id }},
  {% endfor %}
  row_key AS {{ row_name }},
  {% if place_name %}
  row_number() OVER (ORDER BY {{ "" ~ first ~ ", " if first }}shuffle, row_key) - 1 AS {{ place_name }}
  {% else %}
  shuffle AS {{ shuffle_name }}
  {% endif %}
FROM (
  SELECT {% for column in columns %}{{ column | id }}, {% endfor %}{{ row_key }} AS row_key, {{ shuffle }} AS shuffle
  FROM {{ relation }}
  {{ where }}
)
