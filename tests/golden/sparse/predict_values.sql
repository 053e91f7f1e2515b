-- values of prediction
SELECT v.place, v.code, v.value, v.lower, v.upper, c.* EXCLUDE (place, code)
FROM feature_values AS v
JOIN registered_5 AS c ON c.place = v.place AND c.code = v.code
ORDER BY v.place, v.code;
