{# Columns from arrays, which come in that order, under the packed key of some codes. #}
CREATE TABLE {{ table }} AS
SELECT
  {{ key }} AS key
  {% for column in columns %}
  , {{ column }}
  {% endfor %}
FROM {{ relation }}
