{# Log scores of rows that come as cells: that of a row without any feature, what every cell changes,
   and what several change together. #}
{% if depth > 1 %}
WITH coded AS (
  SELECT
    c.r, c.f, f.feature, f.place,
    {{ "COALESCE(x.code, " ~ unseen ~ ")" if match else "0" }} AS code
    {% for start in starts %}
    , {{ "COALESCE(x.l_" ~ loop.index0 ~ ", f.l_" ~ loop.index0 ~ ")" if match else "f.l_" ~ loop.index0 }} AS l_{{ loop.index0 }}
    {% endfor %}
  FROM ({{ cells }}) AS c
  LEFT JOIN {{ features }} AS f ON f.feature = c.f
  {% if match %}
  LEFT JOIN {{ parts }} AS x ON x.place = f.place AND {{ match }}
  {% endif %}
),
joint_1 AS (
  SELECT c.r, t.number
  FROM coded AS c
  JOIN {{ together }} AS t ON t.level = 1 AND t.place = c.place AND t.code = c.code
)
{% for level in range(2, depth + 1) %}
, joint_{{ level }} AS (
  SELECT a.r, t.number{% for start in starts %}, t.l_{{ loop.index0 }}{% endfor %}

  FROM joint_{{ level - 1 }} AS a
  JOIN {{ together }} AS t ON t.level = {{ level }} AND t.prefix = a.number
  JOIN coded AS c ON c.r = a.r AND c.place = t.place AND c.code = t.code
)
{% endfor %}
SELECT
  r
  {% for start in starts %}
  , {{ start }} + COALESCE(sum(l_{{ loop.index0 }}), 0) AS {{ names.score }}{{ loop.index0 }}
  {% endfor %}
  {% if tells_unseen %}
  , bool_or(f IS NOT NULL AND feature IS NULL) AS unseen_feature
  , bool_or(feature IS NOT NULL AND code = {{ unseen }}) AS unseen_value
  {% endif %}
FROM (
  SELECT r, f, feature, code{% for start in starts %}, l_{{ loop.index0 }}{% endfor %} FROM coded
  {% for level in range(2, depth + 1) %}
  UNION ALL
  SELECT r, NULL, NULL, 0{% for start in starts %}, l_{{ loop.index0 }}{% endfor %} FROM joint_{{ level }}
  {% endfor %}
)
GROUP BY r
{% else %}
SELECT
  r
  {% for start in starts %}
  , {{ start }} + COALESCE(sum({{ "COALESCE(x.l_" ~ loop.index0 ~ ", f.l_" ~ loop.index0 ~ ")" if match else "f.l_" ~ loop.index0 }}), 0) AS {{ names.score }}{{ loop.index0 }}
  {% endfor %}
  {% if tells_unseen %}
  , bool_or(c.f IS NOT NULL AND f.feature IS NULL) AS unseen_feature
  , {{ "bool_or(f.feature IS NOT NULL AND x.code IS NULL)" if match else "false" }} AS unseen_value
  {% endif %}
FROM ({{ cells }}) AS c
LEFT JOIN {{ features }} AS f ON f.feature = c.f
{% if match %}
LEFT JOIN {{ parts }} AS x ON x.place = f.place AND {{ match }}
{% endif %}
GROUP BY r
{% endif %}
