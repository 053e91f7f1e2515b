{# Rows of each class of several parts, in the order of the classes. #}
SELECT class, CAST(sum(n) AS BIGINT)
FROM (
  {% for part in parts %}
  SELECT class, {{ part.sign }} * n AS n FROM {{ part.classes }}{{ " UNION ALL" if not loop.last }}
  {% endfor %}
)
GROUP BY class
HAVING sum(n) <> 0
ORDER BY CAST(class AS {{ type }})
