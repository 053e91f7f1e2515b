-- arrays of counts, for the table of counts
SELECT p, k, n FROM registered_1;
