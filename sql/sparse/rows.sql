{# The rows that have a class, numbered in the order of their ids. #}
SELECT
  CAST(row_number() OVER (ORDER BY id) - 1 AS UINTEGER) AS n,
  id,
  CAST(y AS USMALLINT) AS y
FROM (
  SELECT i.{{ row }} AS id, {{ code }} AS y
  FROM {{ relation }} AS i
  {{ join }}
)
WHERE y < {{ n_classes }} AND id IS NOT NULL
