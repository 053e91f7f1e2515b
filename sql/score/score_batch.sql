{# A few factors joined and added to the log scores; their keys end here. #}
SELECT
  {{ kept }}
  {% for sum in sums %}
  , {{ sum }} AS {{ names.score }}{{ loop.index0 }}
  {% endfor %}
FROM ({{ scored }}) AS s
{% for join in joins %}
{{ join.kind }} {{ join.table }} AS {{ join.alias }} ON {{ join.alias }}.key = s.{{ join.key }}
{% endfor %}
