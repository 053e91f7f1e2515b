{# The cells of a stored set that were seen, and their counts by class. #}
SELECT (key // {{ n_classes }})::BIGINT AS cell, (key % {{ n_classes }})::BIGINT AS y, n
FROM {{ counts }}
WHERE position = {{ position }}
ORDER BY key
