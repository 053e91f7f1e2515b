{# Classes as the values of an attribute without a name. #}
SELECT '' AS attribute, code, class AS value, n
FROM {{ classes }}
