-- cells of labelled rows
SELECT rows.n, rows.y, c.f, c.v
FROM (SELECT r, f, v FROM cells) AS c
JOIN rows_1 AS rows ON rows.id = c.r;
