-- classes that predict joins
SELECT 'it''s' AS attribute, code, class AS value
FROM "m"."fruit"."classes";
