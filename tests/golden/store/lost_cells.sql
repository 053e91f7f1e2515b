-- counts of no cell
WITH sizes AS (
  SELECT position, product(radix) AS n
  FROM "model"."families"
  GROUP BY position
)
SELECT count(*)
FROM "model"."counts" AS c
LEFT JOIN sizes AS s USING (position)
WHERE s.n IS NULL OR c.key::DOUBLE >= s.n;
