{# Counts without others of the same families. #}
SELECT position, key, sum(n)::{{ type }} AS n
FROM (
  FROM {{ counts }}
  UNION ALL
  SELECT position, key, -n FROM {{ others }}
)
GROUP BY position, key
HAVING sum(n) <> 0
ORDER BY position, key
