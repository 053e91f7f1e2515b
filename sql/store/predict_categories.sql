{# The categories that `predict` joins. #}
SELECT attribute, code, value
FROM {{ categories }}
