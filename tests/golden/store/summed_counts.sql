-- counts of two parts
SELECT position, key, sum(n)
FROM "model"."raw_1"
GROUP BY position, key
ORDER BY position, key;
