{# The combinations of some variables' codes that occur, and how many rows have each. #}
SELECT
  {% for code in codes %}
  {{ code.column }} AS {{ code.alias }},
  {% endfor %}
  y AS {{ names.y }},
  count(*) AS {{ names.w }}
FROM {{ relation }}
GROUP BY ALL
