{# Rows with a number each: those of the pieces before their own, and their place in that. #}
SELECT
  {{ kept }},
  t.before - 1 + row_number() OVER (
    PARTITION BY {% for piece in pieces %}s.{{ piece.alias }}{{ ", " if not loop.last }}{% endfor %}

    ORDER BY {{ order | join(", ") }}
  ) AS {{ number }}
FROM (
  SELECT *{% for piece in pieces %}, {{ piece.sql }} AS {{ piece.alias }}{% endfor %}

  FROM ({{ statement }})
) AS s
JOIN {{ table }} AS t ON {% for piece in pieces %}t.{{ piece.alias }} IS NOT DISTINCT FROM s.{{ piece.alias }}{{ " AND " if not loop.last }}{% endfor %}

