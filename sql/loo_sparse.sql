{# Leave-one-out ratios of the cells that were seen, for families too large for an array. #}
CREATE TABLE {{ table }} AS
WITH cells AS (
  SELECT
    {{ cell }} AS cell,
    {{ parents }} AS parents,
    {{ lower_cell }} AS lower_cell
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
    [{% for j in range(n_classes) %}{{ ", " if not loop.first }}(n_{{ j }} + {{ share }}) / (t_{{ j }} + {{ m }}){% endfor %}] AS p
  FROM cells JOIN totals USING (parents)
),
owned AS (
  SELECT
    cell * {{ n_classes }} + y AS key,
    lower_cell * {{ n_classes }} + y AS lower_key,
    y,
    p,
    (greatest(n[y + 1] - 1, 0) + {{ share }}) / (greatest(t[y + 1] - 1, 0) + {{ m }}) AS own,
    list_sum(n) - n[y + 1] + greatest(n[y + 1] - 1, 0) > 0 AS usable
  FROM listed CROSS JOIN (SELECT CAST(range AS INTEGER) AS y FROM range({{ n_classes }}))
  WHERE n[y + 1] > 0
)
SELECT
  owned.key AS key
  {% for slot in slots %}
  , {{ "CASE WHEN usable THEN " if backs_off }}CASE WHEN {{ slot.at }} = y THEN 1e0 ELSE p[{{ slot.at }} + 1] / own END{{ " ELSE " ~ ("below." ~ slot.name if lower else "1e0") ~ " END" if backs_off }} AS {{ slot.name }}
  {% endfor %}
FROM owned{{ " JOIN " ~ lower ~ " AS below ON below.key = owned.lower_key" if lower }}
