-- counts of two sets stay
DELETE FROM "model"."counts"
WHERE NOT COALESCE(position IN (3, 4), false);
