-- values of a column numbered
SELECT CAST(dense_rank() OVER (ORDER BY value NULLS LAST) - 1 AS BIGINT) AS place, class, n
FROM counted_1
ORDER BY place, class;
