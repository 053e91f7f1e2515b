{# Logarithms of sums over super parents, of the highest level that has any. The sums are kept in
   steps of e^512, so that nothing over- or underflows: the highest step and the one below it are
   all that counts. #}
SELECT
  {% for key in identity %}
  {{ key.alias }},
  {% endfor %}
  {% for j in classes %}
  ln(greatest(z{{ j }}[1] + COALESCE(z{{ j }}[2] * exp((ranks[2] - ranks[1]) * {{ step }}), 0), {{ least }})) AS {{ names.score }}{{ j }}{{ "," if not loop.last }}
  {% endfor %}
FROM (
  SELECT
    {% for key in identity %}
    any_value({{ key.alias }}) AS {{ key.alias }},
    {% endfor %}
    max({{ names.rank }}, 2) AS ranks
    {% for j in classes %}
    , arg_max(z{{ j }}, {{ names.rank }}, 2) AS z{{ j }}
    {% endfor %}
  FROM ({{ sums }})
  GROUP BY {{ names.row }}
)
