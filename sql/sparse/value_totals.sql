{# How often every value of a feature comes with every class. #}
SELECT place, v, y, CAST(count(*) AS BIGINT) AS n
FROM {{ cells }}
GROUP BY ALL
