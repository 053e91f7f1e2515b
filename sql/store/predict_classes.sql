{# The classes that `predict` joins, as categories of the target. #}
SELECT {{ target | lit }} AS attribute, code, class AS value
FROM {{ classes }}
