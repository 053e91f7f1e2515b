{# Every input row with one log score a class: codes first, then one join a factor. #}
SELECT
  {{ carried }}
  {% for sum in sums %}
  , {{ sum }} AS {{ names.score }}{{ loop.index0 }}
  {% endfor %}
FROM (
  SELECT
    {{ input_items }}
    {% for item in codes %}
    , {{ item.code }} AS {{ item.alias }}
    {% endfor %}
  FROM {{ relation }} AS i
  {% for join in dictionary_joins %}
  {{ join }}
  {% endfor %}
) AS c
{% for join in factor_joins %}
{{ join.kind }} {{ join.table }} AS {{ join.alias }} ON {{ join.alias }}.key = {{ join.key }}
{% endfor %}
