-- cells of a pair that were seen
SELECT x0, x1, y, count(*) AS n
FROM encoded_3
GROUP BY x0, x1, y
ORDER BY x0, x1, y;
