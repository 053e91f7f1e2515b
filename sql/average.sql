{# Rows with the logarithm of a sum over super parents, of the highest level that has any. The
   sums are kept in steps of e^{{ step }}, so that nothing over- or underflows. #}
WITH {{ names.rows }} AS MATERIALIZED (
  SELECT *, row_number() OVER () AS {{ names.row }} FROM ({{ coded }})
),
{{ names.sums }} AS MATERIALIZED (
  SELECT
    {{ names.row }}
    , {{ names.rank }}
    {% for j in classes %}
    , sum(exp({{ names.score }}{{ j }} - {{ names.step }} * {{ step }})) AS {{ names.score }}{{ j }}
    {% endfor %}
  FROM (
    SELECT *, {{ names.level }}::BIGINT * {{ level_step }} + {{ names.step }} AS {{ names.rank }}
    FROM (
      SELECT *, floor(greatest({{ scores | join(", ") }}) / {{ step }})::BIGINT AS {{ names.step }}
      FROM ({{ terms }})
    )
  )
  GROUP BY {{ names.row }}, {{ names.rank }}
)
SELECT
  r.* EXCLUDE ({{ spent | join(", ") }})
  {% for j in classes %}
  , t.{{ names.score }}{{ j }}
  {% endfor %}
FROM {{ names.rows }} AS r
JOIN (
  SELECT
    s.{{ names.row }}
    {% for j in classes %}
    , ln(greatest(sum(s.{{ names.score }}{{ j }} * exp((s.{{ names.rank }} - m.{{ names.rank }}) * {{ step }})), {{ least }})) AS {{ names.score }}{{ j }}
    {% endfor %}
  FROM {{ names.sums }} AS s
  JOIN (
    SELECT {{ names.row }}, max({{ names.rank }}) AS {{ names.rank }}
    FROM {{ names.sums }}
    GROUP BY {{ names.row }}
  ) AS m ON m.{{ names.row }} = s.{{ names.row }}
  GROUP BY s.{{ names.row }}
) AS t ON t.{{ names.row }} = r.{{ names.row }}
{% if in_order %}
ORDER BY r.{{ names.row }}
{% endif %}
