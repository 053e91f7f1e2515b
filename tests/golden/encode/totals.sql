-- rows of every value
SELECT value, sum(n) AS n
FROM counted_1
GROUP BY value;
