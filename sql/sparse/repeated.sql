{# How many cells are there more than once, and one of them. #}
SELECT count(*), any_value(a), any_value(b)
FROM (
  SELECT {{ first }} AS a, {{ second }} AS b
  FROM {{ relation }}
  GROUP BY ALL
  HAVING count(*) > 1
)
