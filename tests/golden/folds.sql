-- two columns dealt to three folds
SELECT
  "kind",
  "two words",
  row_key AS __sqlbn_row,
  CAST((row_number() OVER (ORDER BY "kind", shuffle, row_key) - 1) % 3 AS USMALLINT)
    AS __sqlbn_fold
FROM (
  SELECT "kind", "two words", rowid AS row_key, (rowid * 7 % 11) AS shuffle
  FROM fruit
  
);
