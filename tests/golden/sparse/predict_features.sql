-- features of prediction
SELECT f.feature, c.*
FROM features AS f
JOIN registered_5 AS c ON c.place = f.place
ORDER BY f.place;
