{# How many cells of a stored family hold which count; without the class where its radix divides the key. #}
SELECT n, count(*) AS cells
FROM (
  SELECT sum(n) AS n
  FROM {{ counts }}
  WHERE position = {{ position }}
  GROUP BY key // {{ divisor }}
)
GROUP BY n
ORDER BY n
