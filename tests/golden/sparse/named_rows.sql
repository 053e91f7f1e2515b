-- scores under the name of the row ids
SELECT r AS "doc", __sqlbn_s0 FROM (SELECT * FROM scored);
