{# Rows whose shuffled numbers lie in a range, in the order of these. #}
SELECT {{ columns }}
FROM (SELECT *, {{ shuffle }} AS h, {{ row_key }} AS k FROM {{ relation }})
WHERE h >= {{ low }} AND h < {{ high }}
ORDER BY h, k
