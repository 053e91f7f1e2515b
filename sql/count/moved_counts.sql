{# Counts of sets that have other positions in another table. #}
SELECT m.now, c.key, c.n
FROM {{ counts }} AS c JOIN {{ places }} AS m ON m.before = c.position
ORDER BY m.now, c.key
