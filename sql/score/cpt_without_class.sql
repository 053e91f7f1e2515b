{# A conditional probability table of a network that has no class. #}
SELECT * EXCLUDE (class)
FROM ({{ table }})
