{# Cells of a table of counts, by position and key; keys past 64 bits are read as text. #}
SELECT position, key::{{ type }} AS key, n
FROM {{ counts }}
{% if condition %}
WHERE {{ condition }}
{% endif %}
ORDER BY position, key
