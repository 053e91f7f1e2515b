-- values of a quantity with their weight
SELECT value, sum(w) AS n
FROM (SELECT "weight" AS value, "times" AS w FROM fruit )
WHERE value IS NOT NULL AND NOT isnan(even(value))
GROUP BY value
ORDER BY value;
