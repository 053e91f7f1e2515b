{# Exponentials added up over the super parents of a row, by level and step. #}
SELECT
  {{ names.row }},
  {{ names.rank }},
  {% for key in identity %}
  {{ key.any }} AS {{ key.alias }},
  {% endfor %}
  {% for j in classes %}
  sum({{ powers[j] }}) AS z{{ j }}{{ "," if not loop.last }}
  {% endfor %}
FROM (
  SELECT *, {{ names.level }}::BIGINT * {{ level_step }} + {{ names.step }} AS {{ names.rank }}
  FROM (
    SELECT *, floor({{ top }} / {{ step }})::BIGINT AS {{ names.step }}
    FROM ({{ terms }})
  )
)
GROUP BY {{ names.row }}, {{ names.rank }}
