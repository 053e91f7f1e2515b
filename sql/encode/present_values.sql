{# The categories of a column in the order of their codes. #}
SELECT value
FROM ({{ categories }})
WHERE value IS NOT NULL
ORDER BY code
