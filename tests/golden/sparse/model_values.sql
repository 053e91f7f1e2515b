-- values of a model by name
SELECT f.feature, v.value, v.lower, v.upper
FROM feature_values AS v
JOIN features AS f ON f.place = v.place;
