{# A row unfolded into one a super parent that was seen: its number, its level, where the scores start. #}
SELECT
  k.{{ names.row }}
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
  SELECT
    {{ names.row }}
    {% for code in codes %}
    , {{ code }}
    {% endfor %}
    , unnest([{{ supers | join(", ") }}]) AS {{ names.base }}
  FROM ({{ coded }})
) AS k
JOIN {{ table }} AS p ON p.key = k.{{ names.base }}
