{# What was seen of one term of a collection: weighted P(x | parents, y) of its cells, or where only the parents were seen. #}
INSERT INTO {{ table }}
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
SELECT {{ offset }} + cells.key
  {% for j in classes %}
  , {{ weight }} * {{ estimate.sql("cells.n_" ~ j, "parents.n_" ~ j) }}
  {% endfor %}
FROM cells JOIN parents USING (parents_key)
{% else %}
SELECT {{ offset }} + parents_key
  {% for j in classes %}
  , {{ weight }} * {{ estimate.unseen_sql("n_" ~ j) }}
  {% endfor %}
FROM parents
{% endif %}
ORDER BY 1
