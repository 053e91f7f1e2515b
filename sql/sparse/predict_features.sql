{# The features that prediction looks at, by name. #}
SELECT f.feature, c.*
FROM {{ features }} AS f
JOIN {{ changes }} AS c ON c.place = f.place
ORDER BY f.place
