{# Exactly how many distinct values one column has; spills where they do not fit. #}
SELECT count(*) FROM (
  SELECT {{ value }} AS value FROM {{ relation }} {{ where }} GROUP BY ALL
) WHERE value IS NOT NULL
