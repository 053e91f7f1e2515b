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

-- two columns with what deals them by class
SELECT
  "kind",
  row_key AS __sqlbn_row,
  shuffle AS __sqlbn_shuffle
FROM (
  SELECT "kind", row_key AS row_key, (row_key * 7 % 11) AS shuffle
  FROM fruit
  
);
