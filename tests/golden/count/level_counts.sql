-- counts of attribute 3 without its last parent
SELECT (key // 6 % 3) AS k, sum(n) AS n
FROM "model"."counts"
WHERE position = 3
GROUP BY k;
