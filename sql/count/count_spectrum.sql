{# How many cells of a large family hold which count: all that its entropy needs, exactly. #}
SELECT n, count(*) AS cells
FROM (
  SELECT {{ total }} AS n
  FROM {{ relation }}
  GROUP BY {{ key }}
)
GROUP BY n
ORDER BY n
