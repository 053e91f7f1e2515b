-- cells of rows without a class
SELECT count(*)
FROM words AS i
ANTI JOIN rows_1 AS rows ON rows.id = i."doc";
