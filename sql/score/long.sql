{# Rows with log scores from one table of all factors: a row has a list of keys, and what the table
   has of each is added up. Nothing that a row carries goes through the join. #}
WITH {{ names.rows }} AS MATERIALIZED (
  SELECT
    {{ kept }}
    {% for key in others %}
    , {{ key.sql }} AS {{ key.alias }}
    {% endfor %}
    , [
      {% for key in keys %}
      {{ key }}{{ "," if not loop.last }}
      {% endfor %}
    ] AS {{ names.packed }}
  FROM ({{ coded }})
)
SELECT
  r.* EXCLUDE ({{ names.packed }})
  {% for sum in sums %}
  , s.{{ names.score }}{{ loop.index0 }}
  {% endfor %}
FROM {{ names.rows }} AS r
JOIN (
  SELECT
    u.{{ row }}
    {% for sum in sums %}
    , {{ sum }} AS {{ names.score }}{{ loop.index0 }}
    {% endfor %}
  FROM (SELECT {{ row }}, unnest({{ names.packed }}) AS key FROM {{ names.rows }}) AS u
  JOIN {{ table }} AS t ON t.key = u.key
  GROUP BY u.{{ row }}
) AS s ON s.{{ row }} = r.{{ row }}
