{# Left-out rows unfolded into one a super parent that other rows have too. #}
SELECT
  {{ kept | join(", ") }}
  , p.level
  {% for key in keys %}
  , {{ key.sql }} AS {{ key.alias }}
  {% endfor %}
  {% for score in scores %}
  , p.l_{{ loop.index0 }} AS {{ score }}
  {% endfor %}
  {% for shift in shifts %}
  , m.{{ shift }}
  {% endfor %}
FROM (
  SELECT
    {{ carried | join(", ") }}
    , unnest([{{ supers | join(", ") }}]) AS base
    {% if gone %}
    , unnest([{{ gone | join(", ") }}]) AS gone
    {% endif %}
  FROM ({{ rows }})
) AS k
JOIN {{ table }} AS p ON p.key = k.base
{% if shifts %}
JOIN {{ maxima }} AS m ON m.id = k.r * {{ n_levels }} + p.level
{% endif %}
