{# Leave-one-out ratios of the cells that were seen, for families too large for an array. For weights
   that are importances: what a ratio is made of, and the ratio of a row that is alone in its cell. #}
CREATE TABLE {{ table }} AS
WITH cells AS (
  SELECT
    {{ cell }} AS cell,
    {{ parents }} AS parents,
    {{ lower_cell }} AS lower_cell
    {% if value %}
    , {{ value }} AS value
    {% endif %}
    {% for j in range(n_classes) %}
    , COALESCE(sum(n) FILTER (WHERE {{ y }} = {{ j }}), 0)::DOUBLE AS n_{{ j }}
    {% endfor %}
  FROM {{ counts }}
  WHERE position = {{ position }}
  GROUP BY ALL
),
totals AS (
  SELECT parents{% for j in range(n_classes) %}, sum(n_{{ j }}) AS t_{{ j }}{% endfor %}

  FROM cells
  GROUP BY parents
),
listed AS (
  SELECT
    cell,
    lower_cell,
    [{% for j in range(n_classes) %}{{ ", " if not loop.first }}n_{{ j }}{% endfor %}] AS n,
    [{% for j in range(n_classes) %}{{ ", " if not loop.first }}t_{{ j }}{% endfor %}] AS t,
    [{% for j in range(n_classes) %}{{ ", " if not loop.first }}{{ estimate.sql("n_" ~ j, "t_" ~ j) }}{% endfor %}] AS p
    {% if value %}
    , sum({% for j in range(n_classes) %}{{ " + " if not loop.first }}n_{{ j }}{% endfor %}) OVER (PARTITION BY value) AS everywhere
    {% endif %}
  FROM cells JOIN totals USING (parents)
),
owned AS (
  SELECT
    cell * {{ n_classes }} + y AS key,
    lower_cell * {{ n_classes }} + y AS lower_key,
    y,
    p,
    {% if importance %}
    n[y + 1] AS own_n,
    t[y + 1] AS own_t,
    {{ seen }} AS alone
    {% else %}
    {{ estimate.left_out_sql("n[y + 1]", "t[y + 1]") }} AS own,
    {{ seen }} > 1 AS usable
    {% endif %}
  FROM listed CROSS JOIN (SELECT CAST(range AS INTEGER) AS y FROM range({{ n_classes }}))
  WHERE n[y + 1] > 0
)
SELECT
  owned.key AS key
  {% if importance %}
  , own_n AS n
  , own_t AS t
  , owned.alone AS alone
  {% for slot in slots %}
  , p[{{ slot.at }} + 1] AS {{ slot.estimate }}
  , CASE WHEN {{ slot.at }} = y OR own_n < owned.alone THEN 1e0
    {% if lower %}
    WHEN owned.alone < below.alone THEN below.{{ slot.estimate }} * {% set left = estimate.left_out_parts_sql("below.n", "below.t", "owned.alone") %}{{ left.below }} / {{ left.above }}
    ELSE below.{{ slot.name }} END AS {{ slot.name }}
    {% else %}
    ELSE {{ "1e0" if backs_off else "p[" ~ slot.at ~ " + 1] * (" ~ estimate.below_sql("(own_t - owned.alone)") ~ ") / " ~ estimate.share_sql }} END AS {{ slot.name }}
    {% endif %}
  {% endfor %}
  {% else %}
  {% for slot in slots %}
  , {{ "CASE WHEN usable THEN " if backs_off }}CASE WHEN {{ slot.at }} = y THEN 1e0 ELSE p[{{ slot.at }} + 1] / own END{{ " ELSE " ~ ("below." ~ slot.name if lower else "1e0") ~ " END" if backs_off }} AS {{ slot.name }}
  {% endfor %}
  {% endif %}
FROM owned{{ " JOIN " ~ lower ~ " AS below ON below.key = owned.lower_key" if lower }}
