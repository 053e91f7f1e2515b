-- intervals that some row is in
SELECT DISTINCT position, key::BIGINT // 3 AS code
FROM "model"."margins"
WHERE position IN (0, 2) AND n > 0;
