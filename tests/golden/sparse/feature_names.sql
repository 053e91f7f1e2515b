-- features in order
SELECT
  CAST(row_number() OVER (ORDER BY TRY_CAST(feature AS HUGEINT) NULLS LAST, feature) - 1 AS UINTEGER) AS place,
  feature
FROM (SELECT DISTINCT f AS feature FROM (SELECT r, f, v FROM cells));
