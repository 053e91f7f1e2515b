-- counts by name
SELECT f.feature, v.value, v.lower, v.upper, k.class, -1 * c.n AS n
FROM feature_counts AS c
JOIN features AS f ON f.place = c.place
JOIN classes AS k ON k.code = c.class
LEFT JOIN feature_values AS v ON v.place = c.place AND v.code = c.code;
