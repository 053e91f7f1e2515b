-- numbered rows
SELECT
  CAST(row_number() OVER (ORDER BY id) - 1 AS UINTEGER) AS n,
  id,
  CAST(y AS USMALLINT) AS y
FROM (
  SELECT i."doc" AS id, CASE i."sort" WHEN 'a' THEN 0 ELSE 1 END AS y
  FROM labels AS i
  
)
WHERE y < 1 AND id IS NOT NULL;
