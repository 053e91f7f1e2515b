-- the prior, a table, and a deeper level of it with a discount
SELECT
  CAST(0 AS UINTEGER) AS key
  , CAST(0 AS USMALLINT) AS member
  , -0.5e0 AS l_0
  , -0.9e0 AS l_1
UNION ALL
SELECT
  CAST(1 + f.key AS UINTEGER) AS key
  , CAST(0 AS USMALLINT) AS member
  , f.l_0 AS l_0
  , f.l_1 AS l_1
FROM "m__tables"."predict_factor_0" AS f
UNION ALL
SELECT
  CAST(13 + f.key AS UINTEGER) AS key
  , CAST(0 AS USMALLINT) AS member
  , f.l_0 - a.l_0 - d.l_0 AS l_0
  , f.l_1 - a.l_1 - d.l_1 AS l_1
FROM "m__tables"."predict_factor_1" AS f
JOIN "m__tables"."predict_factor_0" AS a ON a.key = f.key // 5
JOIN "m__tables"."predict_factor_2" AS d ON d.key = f.key % 20;

-- tables of two members
SELECT
  CAST(2 + f.key AS UINTEGER) AS key
  , CAST(0 AS USMALLINT) AS member
  , f.l_0 AS l_0
  , f.l_1 AS l_1
FROM "m__tables"."predict_factor_0" AS f
UNION ALL
SELECT
  CAST(14 + f.key AS UINTEGER) AS key
  , CAST(1 AS USMALLINT) AS member
  , f.l_0 AS l_0
  , f.l_1 AS l_1
FROM "m__tables"."predict_factor_2" AS f;
