{# Every row with the scores of the row that stands for all of its kind. #}
SELECT
  {{ kept }}
  {% for score in scores %}
  , t.{{ score }}
  {% endfor %}
FROM (
  SELECT *{% for key in identity %}, {{ key.sql }} AS {{ key.alias }}{% endfor %}

  FROM ({{ coded }})
) AS r
JOIN (
  {{ scored }}
) AS t ON {% for key in identity %}{{ " AND " if not loop.first }}t.{{ key.alias }} = r.{{ key.alias }}{% endfor %}
