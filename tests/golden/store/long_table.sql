-- two factors in one table
SELECT CAST(0 + key AS UINTEGER) AS key, l_0, l_1
FROM "m__tables"."predict_factor_0"
UNION ALL
SELECT CAST(12 + key AS UINTEGER) AS key, l_0, l_1
FROM "m__tables"."predict_factor_2";
