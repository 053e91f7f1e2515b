{# The observed cells of a block under one packed key. #}
SELECT {{ key }} AS k, {{ total }} AS n
FROM {{ relation }}
GROUP BY k
