-- cells of a model's margins
SELECT position, key::BIGINT AS key, n
FROM "model"."margins"
WHERE position < 3 AND n > 0
ORDER BY position, key;
