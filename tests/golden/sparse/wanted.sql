-- rows that are wanted
SELECT DISTINCT "doc" AS r FROM labels WHERE "doc" IS NOT NULL;
