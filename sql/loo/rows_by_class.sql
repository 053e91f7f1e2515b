{# Rows that differ in more than the class, with the weight of each class. #}
SELECT
  {% for code in codes %}
  {{ code.sql }} AS {{ code.alias }},
  {% endfor %}
  {% for j in classes %}
  COALESCE({{ total }} FILTER (WHERE y = {{ j }}), 0) AS {{ names.w }}{{ j }}{{ "," if not loop.last }}
  {% endfor %}
FROM {{ relation }}
GROUP BY ALL
