{# Sums over members to the logarithms of their mean. #}
SELECT
  {{ kept }}
  {% for score in scores %}
  , {{ score }} AS {{ names.score }}{{ loop.index0 }}
  {% endfor %}
FROM ({{ summed }})
