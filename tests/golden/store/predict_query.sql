-- predictions in the order of the rows
SELECT * EXCLUDE (__sqlbn_row) FROM (SELECT * FROM scored) ORDER BY __sqlbn_row;
