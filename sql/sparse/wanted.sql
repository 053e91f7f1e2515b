{# The row ids that are to be scored, each once. #}
SELECT DISTINCT {{ row }} AS r FROM {{ relation }} WHERE {{ row }} IS NOT NULL
