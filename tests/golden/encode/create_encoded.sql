-- the encoding pass as a table
CREATE TABLE encoded AS
SELECT i."x" AS x0 FROM fruit AS i;
