{# An attribute with a code, other than that of missing values, that no category has. #}
SELECT a.attribute
FROM {{ attributes }} AS a
WHERE
  a.kind = 'categorical'
  AND (
    SELECT count(DISTINCT c.code)
    FROM {{ categories }} AS c
    WHERE c.attribute = a.attribute AND c.code IS DISTINCT FROM a.missing_code
  ) <> a.n_values - (a.missing_code IS NOT NULL)::INTEGER
LIMIT 1
