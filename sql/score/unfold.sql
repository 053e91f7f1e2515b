{# A row times its turns: what a table says of each (that it was seen, where scores start), and keys.
   The cross product takes one turn after the other, so that what is joined stays in the cache. #}
SELECT
  k.{{ names.row }}
  {% for name in carried %}
  , k.{{ name }}
  {% endfor %}
  {% for item in items %}
  , {{ item.sql }} AS {{ item.alias }}
  {% endfor %}
FROM (
  {# A level of its own: a stored macro is kept as text, in which a cross join is a comma. #}
  SELECT *
  FROM (
    SELECT
      {{ names.row }}
      {% for name in carried %}
      , {{ name }}
      {% endfor %}
      {% for key in packed %}
      , {{ key.sql }} AS {{ key.alias }}
      {% endfor %}
    FROM ({{ coded }})
  )
  CROSS JOIN {{ turns }}
) AS k
JOIN {{ table }} AS p ON p.key = {{ start }}
