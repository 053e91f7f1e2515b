{# The rows of a batch: their keys, and where the ratios stand before it. #}
SELECT
  {{ kept | join(", ") }}
  {% for key in keys %}
  , {{ key.sql }} AS {{ key.alias }}
  {% endfor %}
  {% for ratio in ratios %}
  , {{ ratio.sql }} AS {{ ratio.name }}
  {% endfor %}
FROM {{ relation }} AS e
{{ join }}
