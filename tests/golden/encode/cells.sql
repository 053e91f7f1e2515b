-- cells of rows between three cuts
SELECT * EXCLUDE (value, cuts, place), CASE WHEN value IS NOT NULL THEN place END AS value FROM (
SELECT * EXCLUDE (place), place + CASE WHEN cuts[(place + 1)] < value THEN 1 ELSE 0 END AS place FROM (
SELECT * EXCLUDE (place), place + CASE WHEN cuts[(place + 2)] < value THEN 2 ELSE 0 END AS place FROM (
SELECT r.*, t.cuts, 0 AS place FROM (SELECT i."x" AS value, i.y AS class FROM t AS i) AS r CROSS JOIN cuts_1 AS t
)));
