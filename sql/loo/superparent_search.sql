{# The probability of the true class, summed over rows that stand for several of known classes. #}
SELECT
  sum(
    ({% for j in classes %}{{ " + " if not loop.first }}{{ names.w }}{{ j }} * {{ names.weight }}{{ j }}{% endfor %})
    / ({% for j in classes %}{{ " + " if not loop.first }}{{ names.weight }}{{ j }}{% endfor %})
  )
FROM (
  SELECT
    {% for j in classes %}
    {{ names.w }}{{ j }},
    exp({{ names.score }}{{ j }} - {{ names.top }}) AS {{ names.weight }}{{ j }}{{ "," if not loop.last }}
    {% endfor %}
  FROM (
    SELECT
      r.*, t.* EXCLUDE ({{ names.row }}),
      greatest({% for j in classes %}{{ ", " if not loop.first }}t.{{ names.score }}{{ j }}{% endfor %}) AS {{ names.top }}
    FROM {{ rows }} AS r
    JOIN ({{ scored }}) AS t ON t.{{ names.row }} = r.{{ names.row }}
  )
)
