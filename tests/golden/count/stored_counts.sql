-- stored counts of two attributes
SELECT position, key::BIGINT AS key, n
FROM "model"."counts"
WHERE position IN (3, 4)
ORDER BY position;

-- stored counts of no attribute
SELECT position, key::BIGINT AS key, n
FROM "model"."counts"
WHERE position IN (NULL)
ORDER BY position;
