{# Rows with the number of cuts below their value in its place; every step, from the largest
   inside to 1 outside, doubles how close that number is known. #}
SELECT {{ kept }}, CASE WHEN value IS NOT NULL THEN place END AS value FROM (
{% for step in steps %}
SELECT {{ located }}, place + CASE WHEN {{ step.bound }} < value THEN {{ step.size }} ELSE 0 END AS place FROM (
{% endfor %}
SELECT r.*, t.cuts, 0 AS place FROM ({{ labelled }}) AS r CROSS JOIN {{ cuts }} AS t
{% for step in steps %}){% endfor %})
