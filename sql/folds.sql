{# Rows dealt to folds: sorted by class, shuffled within, one after the other. #}
SELECT
  {% for column in columns %}
  {{ column | id }},
  {% endfor %}
  row_key AS {{ row_name }},
  CAST((row_number() OVER (ORDER BY {{ target | id }}, shuffle, row_key) - 1) % {{ folds }} AS USMALLINT)
    AS {{ fold_name }}
FROM (
  SELECT {% for column in columns %}{{ column | id }}, {% endfor %}{{ row_key }} AS row_key, {{ shuffle }} AS shuffle
  FROM {{ relation }}
  {{ where }}
)
