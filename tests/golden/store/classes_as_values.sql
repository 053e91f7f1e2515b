-- classes as values
SELECT '' AS attribute, code, class AS value, n
FROM "model"."classes";
