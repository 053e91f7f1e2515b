{# How many cells there are. #}
SELECT count(*) FROM {{ cells }}
