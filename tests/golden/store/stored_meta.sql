-- name and version of a stored model
SELECT key, value FROM "m"."fruit"."meta" WHERE key NOT IN ('name', 'version')
UNION ALL
VALUES ('name', 'it''s'), ('version', '2');
