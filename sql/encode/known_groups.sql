{# The categories of one attribute, and the group that each is in. #}
SELECT value, code AS "group"
FROM {{ categories }}
WHERE attribute = {{ attribute | lit }} AND value IS NOT NULL
