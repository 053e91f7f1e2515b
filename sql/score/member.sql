{# One member more in the sums over members; its scores end here. #}
SELECT
  {{ kept }}
  {% for sum in sums %}
  , {{ sum }} AS {{ names.sum }}{{ loop.index0 }}
  {% endfor %}
FROM (
  SELECT *, {{ total }} AS {{ names.total }}
  FROM (
    SELECT *{% for weight in weights %}, {{ weight }} AS {{ names.weight }}{{ loop.index0 }}{% endfor %}

    FROM (
      SELECT *, {{ top }} AS {{ names.top }}
      FROM ({{ scored }})
    )
  )
)
{{ fence }}
