{# The values that prediction looks at. #}
SELECT v.place, v.code, v.value, v.lower, v.upper, c.* EXCLUDE (place, code)
FROM {{ values }} AS v
JOIN {{ changes }} AS c ON c.place = v.place AND c.code = v.code
ORDER BY v.place, v.code
