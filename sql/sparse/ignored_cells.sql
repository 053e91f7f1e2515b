{# How many cells are of rows that have no class. #}
SELECT count(*)
FROM {{ cells }} AS i
ANTI JOIN {{ rows }} AS rows ON rows.id = i.{{ row }}
