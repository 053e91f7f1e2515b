{# One level of back-off, only the cells that were seen: ln P(x | parents, y) under a packed key. #}
CREATE TABLE {{ table }} AS
WITH cells AS (
  SELECT
    {{ key }} AS key,
    {{ parents_key }} AS parents_key
    {% for j in classes %}
    , COALESCE(sum(n) FILTER (WHERE y = {{ j }}), 0) AS n_{{ j }}
    {% endfor %}
  FROM (
    SELECT
      {% for axis in axes %}
      {{ axis.code }} AS {{ axis.alias }},
      {% endfor %}
      n
    FROM {{ counts }}
    WHERE position = {{ position }}
  )
  {% for condition in present %}
  {{ "AND" if not loop.first else "WHERE" }} {{ condition }}
  {% endfor %}
  GROUP BY ALL
),
parents AS (
  SELECT
    parents_key
    {% for j in classes %}
    , sum(n_{{ j }}) AS n_{{ j }}
    {% endfor %}
  FROM cells
  GROUP BY parents_key
)
{% if role == "cell" %}
SELECT cells.key AS key
  {% for j in classes %}
  , ln({{ estimate.sql("cells.n_" ~ j, "parents.n_" ~ j) }}) AS l_{{ j }}
  {% endfor %}
FROM cells JOIN parents USING (parents_key)
{% else %}
SELECT parents_key AS key
  {% for j in classes %}
  , ln({{ estimate.unseen_sql("n_" ~ j) }}) AS l_{{ j }}
  {% endfor %}
FROM parents
{% for code in ignored %}
UNION ALL
SELECT {{ code }}{% for j in classes %}, 0{% endfor %}

{% endfor %}
{% endif %}
ORDER BY key
