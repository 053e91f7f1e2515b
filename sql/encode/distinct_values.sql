{# How many values were counted by class, and whether one of them is missing. #}
SELECT count(DISTINCT value), count(*) > count(value)
FROM {{ counted }}
