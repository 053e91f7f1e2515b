{# The distinct values of one numeric column in order, with the weight of each. #}
SELECT value, sum(w) AS n
FROM (SELECT {{ value }} AS value, {{ weight }} AS w FROM {{ relation }} {{ where }})
WHERE value IS NOT NULL AND NOT {{ is_nan }}
GROUP BY value
ORDER BY value
