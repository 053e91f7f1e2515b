{# The log scores of some rows; one without cells is one without any feature. #}
SELECT
  w.r
  {% for start in starts %}
  , COALESCE(s.{{ names.score }}{{ loop.index0 }}, {{ start }}) AS {{ names.score }}{{ loop.index0 }}
  {% endfor %}
  , COALESCE(s.unseen_feature, false) AS unseen_feature
  , COALESCE(s.unseen_value, false) AS unseen_value
FROM ({{ wanted }}) AS w
LEFT JOIN ({{ scores }}) AS s ON s.r = w.r
