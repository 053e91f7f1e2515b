{# An attribute whose intervals do not rise, or are not as many as it has codes. #}
SELECT attribute
FROM (
  SELECT attribute, upper <= lag(upper) OVER (PARTITION BY attribute ORDER BY code) AS falls
  FROM {{ cuts }}
  WHERE upper IS NOT NULL
)
WHERE falls
UNION ALL
SELECT a.attribute
FROM {{ attributes }} AS a
WHERE
  a.kind = 'numeric'
  AND (
    SELECT count(*) FROM {{ cuts }} AS c WHERE c.attribute = a.attribute AND c.upper IS NOT NULL
  ) <> a.n_values - (a.missing_code IS NOT NULL)::INTEGER
LIMIT 1
