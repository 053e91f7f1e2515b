-- counts of sets under other numbers
SELECT m.now, c.key, c.n
FROM "model"."counts" AS c JOIN "model"."counts_moved" AS m ON m.before = c.position
ORDER BY m.now, c.key;
