{# The different log scores of the rows' own classes, and how many rows have each. #}
SELECT l, sum({{ names.w }})::BIGINT AS n
FROM (SELECT {{ names.w }}, {{ own }} AS l FROM ({{ scored }}))
GROUP BY l
