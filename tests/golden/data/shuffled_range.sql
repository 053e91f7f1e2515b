-- rows of a range of shuffled numbers
SELECT x0, x1, y
FROM (SELECT *, hash(rowid, 0) % 4294967296 AS h, rowid AS k FROM encoded_3)
WHERE h >= 0 AND h < 1024
ORDER BY h, k;
