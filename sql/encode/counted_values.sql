{# The different values of one column and how many rows have each. #}
SELECT {{ value }} AS value, {{ total }} AS n
FROM {{ relation }}
{{ where }}
GROUP BY ALL
