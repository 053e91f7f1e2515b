{# One scan: about how many distinct values each column has. #}
SELECT
{% for value in values %}
  approx_count_distinct({{ value }}){{ "," if not loop.last }}
{% endfor %}
FROM {{ relation }}
{{ where }}
