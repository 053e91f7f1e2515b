{# An attribute with two values that one model has in a group and the other has not. #}
SELECT attribute
FROM {{ joined }}
WHERE first_code IS NOT NULL AND second_code IS NOT NULL
GROUP BY GROUPING SETS ((attribute, first_code), (attribute, second_code))
HAVING count(DISTINCT first_code) > 1 OR count(DISTINCT second_code) > 1
ORDER BY attribute
LIMIT 1
