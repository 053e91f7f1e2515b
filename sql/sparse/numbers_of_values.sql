{# How many values every feature has, by place. #}
SELECT max(code) + 1 AS n_values FROM {{ counts }} GROUP BY place ORDER BY place
