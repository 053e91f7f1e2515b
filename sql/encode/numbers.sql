{# Numbers of some columns, and the weight of each row. #}
SELECT
  {% for column in columns %}
  {{ column.value }} AS {{ column.alias }},
  {% endfor %}
  {{ weight }} AS w
FROM {{ relation }}
{{ where }}
