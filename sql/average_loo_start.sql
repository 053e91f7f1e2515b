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
  , {{ gone_at }} AS gone
  {% endif %}
  {% for shift in shifts %}
  , m.{{ shift }}
  {% endfor %}
FROM (
  SELECT
    {{ carried | join(", ") }}
    , {{ supers }} AS base
    {% if gone %}
    , {{ gone }} AS gone
    {% endif %}
  FROM ({{ rows }})
) AS k
CROSS JOIN {{ turns }}
JOIN {{ table }} AS p ON p.key = {{ base }}
{% if shifts %}
JOIN {{ maxima }} AS m ON m.id = k.r * {{ n_levels }} + p.level
{% endif %}
