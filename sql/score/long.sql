{# Rows with log scores from one table of all factors: a row has a list of keys, and what the table
   has of each is added up; of several members, into the logarithms of the mean of what they say.
   Nothing that a row carries goes through the join. #}
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
),
{{ names.sum }} AS (
  SELECT
    u.{{ row }}
    {% for j in classes %}
    , sum(t.l_{{ j }}) AS {{ names.score }}{{ j }}
    {% endfor %}
  FROM (SELECT {{ row }}, unnest({{ names.packed }}) AS key FROM {{ names.rows }}) AS u
  JOIN {{ table }} AS t ON t.key = u.key
  GROUP BY u.{{ row }}{{ ", t.member" if mean }}
)
SELECT
  r.* EXCLUDE ({{ names.packed }})
  {% for j in classes %}
  , s.{{ names.score }}{{ j }}
  {% endfor %}
FROM {{ names.rows }} AS r
JOIN {% if mean %}(
  SELECT
    {{ row }}
    {% for j in classes %}
    , ln(greatest(sum({{ names.weight }}{{ j }} / {{ names.total }}) / {{ mean.members }}, {{ mean.least }})) AS {{ names.score }}{{ j }}
    {% endfor %}
  FROM (
    SELECT *, {{ mean.total }} AS {{ names.total }}
    FROM (
      SELECT *{% for weight in mean.weights %}, {{ weight }} AS {{ names.weight }}{{ loop.index0 }}{% endfor %}

      FROM (SELECT *, {{ mean.top }} AS {{ names.top }} FROM {{ names.sum }})
    )
  )
  GROUP BY {{ row }}
){% else %}{{ names.sum }}{% endif %} AS s ON s.{{ row }} = r.{{ row }}
