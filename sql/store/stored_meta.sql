{# Name and version of a model, which a store gives it. #}
DELETE FROM {{ meta }} WHERE key IN ('name', 'version');
INSERT INTO {{ meta }} VALUES ('name', {{ name | lit }}), ('version', '{{ version }}')
