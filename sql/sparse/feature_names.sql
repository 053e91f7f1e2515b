{# All features with a place each: whole numbers in their order, then words in theirs. #}
SELECT
  CAST(row_number() OVER (ORDER BY TRY_CAST(feature AS HUGEINT) NULLS LAST, feature) - 1 AS UINTEGER) AS place,
  feature
FROM (SELECT DISTINCT f AS feature FROM ({{ cells }}))
