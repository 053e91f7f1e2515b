{# Rows of every value, from rows of every value and class. #}
SELECT value, sum(n) AS n
FROM {{ counted }}
GROUP BY value
