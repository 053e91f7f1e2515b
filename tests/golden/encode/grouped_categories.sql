-- categories in groups
SELECT CAST(dense_rank() OVER (ORDER BY first) - 1 AS UINTEGER) AS code, value, n
FROM (
  SELECT place, value, n, min(place) OVER (PARTITION BY COALESCE(known, -1 - place)) AS first
  FROM (
    SELECT c.code::BIGINT AS place, c.value, c.n, g."group"::BIGINT AS known
    FROM (
      SELECT 0 AS code, 'red' AS value, 3 AS n
    ) AS c
    LEFT JOIN registered_1 AS g ON TRY_CAST(g.value AS VARCHAR) = TRY_CAST(c.value AS VARCHAR)
  )
)
ORDER BY place;
