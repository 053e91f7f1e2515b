{# The observed cells of a family too large for an array, code by code. #}
SELECT {{ codes }}, {{ total }} AS n
FROM {{ relation }}
GROUP BY {{ codes }}
ORDER BY {{ codes }}
