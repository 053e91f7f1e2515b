{# The counts of some positions as they are, in the order in which they lie. #}
SELECT position, key, n FROM {{ counts }} WHERE position IN ({{ positions | join(', ') }})
