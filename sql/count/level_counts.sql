{# Counts of one attribute at a shallower level of back-off, summed from the stored ones. #}
SELECT {{ key }} AS k, sum(n) AS n
FROM {{ counts }}
WHERE position = {{ position }}
GROUP BY k
