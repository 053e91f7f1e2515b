-- categories in the order of their codes
SELECT value
FROM (SELECT 0 AS code, 'red' AS value, 3 AS n)
WHERE value IS NOT NULL
ORDER BY code;
