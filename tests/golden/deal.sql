-- two columns dealt by class
SELECT
  "kind",
  "two words",
  row_key AS __sqlbn_row,
  row_number() OVER (ORDER BY "kind", shuffle, row_key) - 1 AS __sqlbn_place
FROM (
  SELECT "kind", "two words", rowid AS row_key, (rowid * 7 % 11) AS shuffle
  FROM fruit
  
);
