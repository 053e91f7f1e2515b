{# Exponentials added up over the super parents of a row, by level and step. #}
SELECT
  {{ names.row }},
  {{ names.rank }},
  {% for key in identity %}
  any_value({{ key.alias }}) AS {{ key.alias }},
  {% endfor %}
  {% for j in classes %}
  sum(exp({{ names.score }}{{ j }} - {{ names.step }} * {{ step }})) AS z{{ j }}{{ "," if not loop.last }}
  {% endfor %}
FROM (
  SELECT *, {{ names.level }}::BIGINT * {{ level_step }} + {{ names.step }} AS {{ names.rank }}
  FROM (
    SELECT *, floor(greatest({{ scores | join(", ") }}) / {{ step }})::BIGINT AS {{ names.step }}
    FROM ({{ terms }})
  )
)
GROUP BY {{ names.row }}, {{ names.rank }}
