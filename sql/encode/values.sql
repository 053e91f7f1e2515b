{# Rows with the values that codes are made of. #}
SELECT
  i.*
  {% for value in values %}
  , {{ value.sql }} AS {{ value.alias }}
  {% endfor %}
FROM {{ relation }} AS i
