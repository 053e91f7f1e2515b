{# Sums over the turns of a row, or over those of one of its attributes. #}
SELECT
  {{ by | join(", ") }}
  {% for name in carried %}
  , {{ name.any }} AS {{ name.alias }}
  {% endfor %}
  {% for sum in sums %}
  , {{ sum.sql }} AS {{ sum.alias }}
  {% endfor %}
FROM ({{ terms }})
GROUP BY {{ by | join(", ") }}
