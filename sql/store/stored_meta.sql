{# A model's meta table with the name and the version that a store gives it. #}
SELECT key, value FROM {{ meta }} WHERE key NOT IN ('name', 'version')
UNION ALL
VALUES ('name', {{ name | lit }}), ('version', '{{ version }}')
