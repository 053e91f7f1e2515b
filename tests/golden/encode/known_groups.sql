-- groups that a model has
SELECT value, code AS "group"
FROM "model"."categories"
WHERE attribute = 'it''s' AND value IS NOT NULL;
