{# Cells of counts whose family is not there, or has fewer cells. #}
WITH sizes AS (
  SELECT position, product(radix) AS n
  FROM {{ families }}
  GROUP BY position
)
SELECT count(*)
FROM {{ counts }} AS c
LEFT JOIN sizes AS s USING (position)
WHERE s.n IS NULL OR c.key::DOUBLE >= s.n
