{# The groups of one column's categories with the values in them, cut after a few. #}
SELECT
  code,
  CASE
    WHEN count(*) > {{ most }}
      THEN string_agg(value, ', ' ORDER BY place) FILTER (WHERE place <= {{ most }}) || ', … (' || count(*) || ' values)'
    ELSE string_agg(value, ', ' ORDER BY place)
  END AS label,
  sum(n) AS n
FROM (
  SELECT code, value, n, row_number() OVER (PARTITION BY code ORDER BY TRY_CAST(value AS {{ type }})) AS place
  FROM {{ categories }}
  WHERE attribute = {{ attribute | lit }}
)
GROUP BY code
ORDER BY code
