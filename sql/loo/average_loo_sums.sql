{# Sums over super parents, by row and level, turned into what the losses are made of; of the
   levels that have a sum the highest counts. #}
SELECT
  r, {{ kept | join(", ") }}
  {% for term in terms %}
  , COALESCE({% for level in levels %}{{ ", " if not loop.first }}max({{ term.name }}) FILTER (WHERE level = {{ level }}){% endfor %}) AS {{ term.name }}
  {% endfor %}
FROM (
  SELECT
    r, level, {{ kept | join(", ") }}
    {% for term in terms %}
    , CASE WHEN {{ term.known }} > 0 THEN {{ term.sql }} END AS {{ term.name }}
    {% endfor %}
  FROM (
    SELECT
      r, level, {{ kept | join(", ") }}
      {% for sum in sums %}
      , sum({{ sum }}) AS {{ sum }}
      {% endfor %}
    FROM ({{ terms_sql }})
    GROUP BY r, level, {{ kept | join(", ") }}
  )
)
GROUP BY r, {{ kept | join(", ") }}
