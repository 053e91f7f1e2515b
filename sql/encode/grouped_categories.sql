{# The categories of one column in sorted order, those of a group under one code: groups are numbered
   by their first value, a value that no group knows is one of its own. #}
SELECT CAST(dense_rank() OVER (ORDER BY first) - 1 AS UINTEGER) AS code, value, n
FROM (
  SELECT place, value, n, min(place) OVER (PARTITION BY COALESCE(known, -1 - place)) AS first
  FROM (
    SELECT c.code::BIGINT AS place, c.value, c.n, g."group"::BIGINT AS known
    FROM (
      {{ categories }}
    ) AS c
    LEFT JOIN {{ groups }} AS g ON TRY_CAST(g.value AS {{ type }}) = TRY_CAST(c.value AS {{ type }})
  )
)
ORDER BY place
