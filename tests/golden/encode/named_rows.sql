-- rows of attributes
SELECT 'it''s', *
FROM (SELECT 0 AS code, 'red' AS value, 3 AS n)
UNION ALL
SELECT 'size', *
FROM (SELECT 0 AS code, '1' AS value, 3 AS n);
