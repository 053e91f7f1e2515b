-- counts of two attributes stay as they are
SELECT position, key, n FROM "model"."counts_deep" WHERE position IN (3, 4);
