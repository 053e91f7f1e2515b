-- axes with a wrong radix
SELECT count(*)
FROM "model"."families" AS f
LEFT JOIN "model"."attributes" AS a ON f.variable = a.position
WHERE f.radix <> CASE
  WHEN f.variable IS NULL THEN (SELECT count(*) FROM "model"."classes")
  ELSE a.n_values
END;
