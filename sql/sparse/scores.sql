{# Log scores of rows that come as cells: that of a row without any feature, and for every cell what
   it changes. #}
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
