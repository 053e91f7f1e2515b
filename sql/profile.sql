{# One scan: rows, and for every column how many values it has and their range. #}
SELECT
  count(*) AS n_rows
{% for column in columns %}
  , count({{ column.value }})
  , {{ "min(" ~ column.value ~ ")" if column.ranged else "NULL" }}
  , {{ "max(" ~ column.value ~ ")" if column.ranged else "NULL" }}
{% endfor %}
FROM {{ relation }}
{{ where }}
