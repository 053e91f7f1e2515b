{# The conditional probability table of one attribute, decoded: seen combinations, every class. #}
WITH cells AS (
  SELECT
    {% for axis in axes %}
    {{ axis.code }} AS c{{ loop.index0 }},
    {% endfor %}
    {{ class_code }} AS y,
    n
  FROM {{ counts }}
  WHERE position = {{ position }}
  {% for axis in axes if axis.gone is not none %}
  AND {{ axis.code }} <> {{ axis.gone }}
  {% endfor %}
),
seen AS (
  SELECT DISTINCT {% for axis in axes %}{{ ", " if not loop.first }}c{{ loop.index0 }}{% endfor %}

  FROM cells
),
totals AS (
  SELECT y{% for axis in axes[1:] %}, c{{ loop.index }}{% endfor %}, sum(n) AS n
  FROM cells
  GROUP BY ALL
)
{% for level in mixed %}
, cells{{ level.level }} AS (
  SELECT y{% for axis in axes[:level.level + 1] %}, c{{ loop.index0 }}{% endfor %}, sum(n) AS n
  FROM cells
  GROUP BY ALL
),
totals{{ level.level }} AS (
  SELECT y{% for axis in axes[1:level.level + 1] %}, c{{ loop.index }}{% endfor %}, sum(n) AS n
  FROM cells
  GROUP BY ALL
)
{% endfor %}
SELECT
  {% for axis in axes %}
  v{{ loop.index0 }}.label AS {{ axis.name | id }},
  {% endfor %}
  k.class AS class,
  COALESCE(cells.n, 0) AS n,
  {{ (mixed | last).sql if mixed else estimate.sql("COALESCE(cells.n, 0)", "COALESCE(totals.n, 0)") }} AS probability
FROM seen
CROSS JOIN {{ classes }} AS k
LEFT JOIN cells
  ON cells.y = k.code{% for axis in axes %} AND cells.c{{ loop.index0 }} = seen.c{{ loop.index0 }}{% endfor %}

LEFT JOIN totals
  ON totals.y = k.code{% for axis in axes[1:] %} AND totals.c{{ loop.index }} = seen.c{{ loop.index }}{% endfor %}

{% for level in mixed %}
LEFT JOIN cells{{ level.level }} AS n{{ level.level }}
  ON n{{ level.level }}.y = k.code{% for axis in axes[:level.level + 1] %} AND n{{ level.level }}.c{{ loop.index0 }} = seen.c{{ loop.index0 }}{% endfor %}

LEFT JOIN totals{{ level.level }} AS t{{ level.level }}
  ON t{{ level.level }}.y = k.code{% for axis in axes[1:level.level + 1] %} AND t{{ level.level }}.c{{ loop.index }} = seen.c{{ loop.index }}{% endfor %}

{% endfor %}
{% for axis in axes %}
LEFT JOIN (
  SELECT code, {{ axis.label }} AS label FROM {{ axis.table }} WHERE attribute = {{ axis.attribute | lit }}
) AS v{{ loop.index0 }} ON v{{ loop.index0 }}.code = seen.c{{ loop.index0 }}
{% endfor %}
ORDER BY {% for axis in axes[1:] %}seen.c{{ loop.index }}, {% endfor %}seen.c0, k.code
