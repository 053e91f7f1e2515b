-- counted cells, for the table of counts
SELECT 3, k, n FROM registered_1 ORDER BY k;
