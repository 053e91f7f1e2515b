{# A chunk of the rows; with subsumption, from which prefix on each implied value is dropped. #}
SELECT
  {{ row }} AS r
  {% for column in columns %}
  , e.{{ column }}
  {% endfor %}
  {% for item in gone %}
  , {{ item.sql }} AS {{ item.alias }}
  {% endfor %}
FROM {{ relation }} AS e
{% for join in joins %}
JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.alias }}.key = {{ join.key }}
{% endfor %}
WHERE {{ row }} >= {{ first }} AND {{ row }} < {{ stop }}
