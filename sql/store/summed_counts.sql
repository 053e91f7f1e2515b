{# Counts of several parts added up. #}
SELECT position, key, sum(n)
FROM {{ parts }}
GROUP BY position, key
ORDER BY position, key
