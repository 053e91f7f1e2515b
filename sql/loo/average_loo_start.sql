{# Left-out rows times the super parents: those of their values that other rows have too. #}
SELECT
  {{ kept | join(", ") }}
  , {{ level }} AS level
  {% if above %}
  , {{ above }} AS above
  {% endif %}
  {% for key in keys %}
  , {{ key.sql }} AS {{ key.alias }}
  {% endfor %}
  {% for score in scores %}
  , {{ score.sql }} AS {{ score.name }}
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
JOIN {{ maxima }} AS m ON m.id = k.r * {{ n_levels }} + {{ level }}
{% endif %}
