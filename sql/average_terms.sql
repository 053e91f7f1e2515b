{# A row times the super parents: those of its values that were seen, their level, where scores start.
   The cross product takes one super parent after the other, so that what is joined stays in the cache. #}
SELECT
  k.{{ names.row }}
  {% for key in identity %}
  , k.{{ key.alias }}
  {% endfor %}
  , p.level AS {{ names.level }}
  {% for key in keys %}
  , {{ key.sql }} AS {{ key.alias }}
  {% endfor %}
  {% for j in classes %}
  , p.l_{{ j }} AS {{ names.score }}{{ j }}
  {% endfor %}
  {% for j in divided %}
  , p.b_{{ j }} AS {{ names.divisor }}{{ j }}
  {% endfor %}
FROM (
  {# A level of its own: a stored macro is kept as text, in which a cross join is a comma. #}
  SELECT *
  FROM (
    SELECT
      {{ names.row }}
      {% for key in identity %}
      , {{ key.alias }}
      {% endfor %}
      {% for key in packed %}
      , {{ key.sql }} AS {{ key.alias }}
      {% endfor %}
      , [{{ supers | join(", ") }}] AS {{ names.base }}
    FROM ({{ coded }})
  )
  CROSS JOIN range(1, {{ supers | length + 1 }}) AS t({{ names.turn }})
) AS k
JOIN {{ table }} AS p ON p.key = k.{{ names.base }}[k.{{ names.turn }}]
