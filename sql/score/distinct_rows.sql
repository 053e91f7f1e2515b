{# Rows that differ, with a number each; a value that another one implies gets the code of dropped
   values. #}
SELECT
  s.{{ names.row }}
  {% for key in identity %}
  , {{ key.sql }} AS {{ key.alias }}
  {% endfor %}
  {% for code in codes %}
  , {{ code.sql }} AS {{ code.alias }}
  {% endfor %}
FROM (
  SELECT *, {{ row }} AS {{ names.row }}
  FROM (SELECT DISTINCT {{ distinct | join(", ") }} FROM ({{ coded }}))
) AS s
{% for join in joins %}
{{ join.kind }} {{ join.table }} AS {{ join.alias }} ON {{ join.alias }}.key = s.{{ join.code }}
{% endfor %}
