{# Counts out of arrays, for the table of counts. #}
SELECT p, k, n FROM {{ arrays }}
