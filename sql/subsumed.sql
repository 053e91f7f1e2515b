{# Codes of a row; a value that another one implies gets the code of dropped values. #}
SELECT
  s.{{ names.row }}
  {% for code in codes %}
  , {{ code.sql }} AS {{ code.alias }}
  {% endfor %}
FROM {{ rows }} AS s
{% for join in joins %}
{{ join.kind }} {{ join.table }} AS {{ join.alias }} ON {{ join.alias }}.key = s.{{ join.code }}
{% endfor %}
