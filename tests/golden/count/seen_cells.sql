-- seen cells of a set
SELECT (key // 2)::BIGINT AS cell, (key % 2)::BIGINT AS y, n
FROM "model"."counts"
WHERE position = 3
ORDER BY key;
