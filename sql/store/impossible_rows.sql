{# Rows of a model's table for which a condition holds that must not. #}
SELECT count(*)
FROM {{ table }} AS t
WHERE {{ condition }}
