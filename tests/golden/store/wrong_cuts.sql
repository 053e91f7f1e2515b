-- cuts that are no intervals
SELECT attribute
FROM (
  SELECT attribute, upper <= lag(upper) OVER (PARTITION BY attribute ORDER BY code) AS falls
  FROM "model"."cuts"
  WHERE upper IS NOT NULL
)
WHERE falls
UNION ALL
SELECT a.attribute
FROM "model"."attributes" AS a
WHERE
  a.kind = 'numeric'
  AND (
    SELECT count(*) FROM "model"."cuts" AS c WHERE c.attribute = a.attribute AND c.upper IS NOT NULL
  ) <> a.n_values - (a.missing_code IS NOT NULL)::INTEGER
LIMIT 1;
