{# Axes of families whose radix is not the number of codes of their variable. #}
SELECT count(*)
FROM {{ families }} AS f
LEFT JOIN {{ attributes }} AS a ON f.variable = a.position
WHERE f.radix <> CASE
  WHEN f.variable IS NULL THEN (SELECT count(*) FROM {{ classes }})
  ELSE a.n_values
END
