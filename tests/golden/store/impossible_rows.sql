-- parents of an attribute that is not there
SELECT count(*)
FROM "model"."parents" AS t
WHERE t.parent NOT IN (SELECT attribute FROM a);
