-- rows of an attribute
SELECT 'it''s', *
FROM (SELECT 0 AS code, 'red' AS value, 3 AS n);
