{# Log scores to probabilities, through the largest score so that nothing under- or overflows. #}
SELECT
  {{ kept }}
  , CAST(CASE {% for c in classes %}WHEN {{ names.score }}{{ loop.index0 }} >= {{ names.top }} - {{ tie }} THEN {{ c.value }} {% endfor %}END AS {{ target_type }}) AS prediction
  {% for c in classes %}
  , {{ names.weight }}{{ loop.index0 }} / {{ names.total }} AS {{ c.column }}
  {% endfor %}
FROM (
  SELECT *, {{ total }} AS {{ names.total }}
  FROM (
    SELECT *{% for c in classes %}, {{ c.weight }} AS {{ names.weight }}{{ loop.index0 }}{% endfor %}

    FROM (
      SELECT *, {{ top }} AS {{ names.top }}
      FROM ({{ scored }})
    )
  )
)
