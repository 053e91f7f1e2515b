{# The values of a model's features by name. #}
SELECT f.feature, v.value, v.lower, v.upper
FROM {{ values }} AS v
JOIN {{ features }} AS f ON f.place = v.place
