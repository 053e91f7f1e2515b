-- codes without a category
SELECT a.attribute
FROM "model"."attributes" AS a
WHERE
  a.kind = 'categorical'
  AND (
    SELECT count(DISTINCT c.code)
    FROM "model"."categories" AS c
    WHERE c.attribute = a.attribute AND c.code IS DISTINCT FROM a.missing_code
  ) <> a.n_values - (a.missing_code IS NOT NULL)::INTEGER
LIMIT 1;
