-- a sample of one quantity
SELECT * EXCLUDE (shuffle, row_key) FROM (
  SELECT
    "weight" AS v0,
    1 AS w,
    (rowid * 7 % 11) AS shuffle,
    rowid AS row_key
  FROM fruit
  WHERE true
)
WHERE shuffle < 5
ORDER BY shuffle, row_key
LIMIT 100;
