{# Left-out rows times the super parents: those of their values that other rows have too. #}
SELECT
  {{ kept | join(", ") }}
  , p.level
  {% for key in keys %}
  , {{ key.sql }} AS {{ key.alias }}
  {% endfor %}
  {% for score in scores %}
  , p.l_{{ loop.index0 }} AS {{ score }}
  {% endfor %}
  {% if gone %}
  , k.gone[t.turn] AS gone
  {% endif %}
  {% for shift in shifts %}
  , m.{{ shift }}
  {% endfor %}
FROM (
  SELECT
    {{ carried | join(", ") }}
    , [{{ supers | join(", ") }}] AS base
    {% if gone %}
    , [{{ gone | join(", ") }}] AS gone
    {% endif %}
  FROM ({{ rows }})
) AS k
CROSS JOIN range(1, {{ supers | length + 1 }}) AS t(turn)
JOIN {{ table }} AS p ON p.key = k.base[t.turn]
{% if shifts %}
JOIN {{ maxima }} AS m ON m.id = k.r * {{ n_levels }} + p.level
{% endif %}
