{# One scan: rows, and for every column how many values it has, whether they are all one, and their range. #}
SELECT
  count(*) AS n_rows
{% for column in columns %}
  , count({{ column.value }})
  , {{ column.single }}
  , {{ column.spread }}
{% endfor %}
FROM {{ relation }}
{{ where }}
