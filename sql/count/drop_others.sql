{# Forget the counts of all but some positions. #}
DELETE FROM {{ counts }}
WHERE NOT COALESCE(position IN ({{ positions | join(', ') or 'NULL' }}), false)
