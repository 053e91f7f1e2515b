{# How often two cells meet in a part of the rows, by class; g numbers the codes of all features. #}
WITH part AS (
  SELECT n, y, g FROM {{ cells }} WHERE n >= {{ first }} AND n < {{ last }}
)
SELECT a.g AS g, b.g AS h, a.y AS y, count(*) AS n
FROM part AS a
JOIN part AS b ON b.n = a.n AND b.g > a.g
GROUP BY a.g, b.g, a.y
