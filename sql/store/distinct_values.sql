{# Whether a column has a value twice, and counts from 0 on. #}
SELECT count(*), count(DISTINCT {{ column | id }}), min({{ column | id }}), max({{ column | id }})
FROM {{ table }}
