{# Counted cells as rows of the table of counts. #}
SELECT {{ position }}, k, n FROM {{ counted }} ORDER BY k
