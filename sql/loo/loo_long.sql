{# Rows times attributes: every key of a row is looked up in one table of all factors of a k', and
   what is found is added up along the row. With `place` a row for each prefix, without it one for
   all attributes. #}
SELECT
  {{ kept | join(", ") }}
  {% if place %}
  , {{ place }}
  {% endif %}
  {% for log in logs %}
  , {{ log.prior }} + {{ log.name }} AS {{ log.name }}
  {% endfor %}
FROM (
  SELECT
    {% for name in kept %}
    u.{{ name }},
    {% endfor %}
    u.{{ row }}
    {% if place %}
    , t.{{ place }}
    {% endif %}
    {% for log in logs %}
    , sum({{ log.sql }}){{ " OVER (PARTITION BY u." ~ row ~ " ORDER BY t." ~ place ~ " ROWS UNBOUNDED PRECEDING)" if place }} AS {{ log.name }}
    {% endfor %}
  FROM (
    SELECT
      {% for name in kept %}
      {{ name }},
      {% endfor %}
      {{ row }},
      {{ unfolded }} AS key
    FROM {{ rows }}
  ) AS u
  JOIN {{ table }} AS t ON t.key = u.key
  {% if not place %}
  GROUP BY {% for name in kept %}u.{{ name }}, {% endfor %}u.{{ row }}
  {% endif %}
) AS s
JOIN {{ prior }} AS prior ON prior.key = s.y
