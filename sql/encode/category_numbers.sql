{# How many categories and codes every attribute has, and the code of its missing values. #}
SELECT attribute, count(*), count(DISTINCT code), max(code) FILTER (WHERE value IS NULL)
FROM {{ categories }}
GROUP BY attribute
