-- numbers of two columns of weighted rows
SELECT
  TRY_CAST("size" AS DOUBLE) AS v0,
  TRY_CAST("two words" AS DOUBLE) AS v1,
  "w" AS w
FROM fruit
WHERE ("spots" > 1);
