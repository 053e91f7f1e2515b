{# Counts by what they are of, instead of by number; {{ sign }} says whether they are added. #}
SELECT f.feature, v.value, v.lower, v.upper, k.class, {{ sign }} * c.n AS n
FROM {{ counts }} AS c
JOIN {{ features }} AS f ON f.place = c.place
JOIN {{ classes }} AS k ON k.code = c.class
LEFT JOIN {{ values }} AS v ON v.place = c.place AND v.code = c.code
