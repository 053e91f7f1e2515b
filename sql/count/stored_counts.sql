{# The stored counts of some positions, in their order. #}
SELECT position, key::BIGINT AS key, n
FROM {{ counts }}
WHERE position IN ({{ positions | join(', ') or 'NULL' }})
ORDER BY position
