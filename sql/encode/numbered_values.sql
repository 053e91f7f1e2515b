{# Counts by value and class with the values numbered in sorted order, missing last. #}
SELECT CAST(dense_rank() OVER (ORDER BY value NULLS LAST) - 1 AS BIGINT) AS place, class, n
FROM {{ counted }}
ORDER BY place, class
