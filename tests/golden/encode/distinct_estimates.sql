-- about how many distinct values two columns have
SELECT
  approx_count_distinct("id"),
  approx_count_distinct(NULLIF("w", 'nan'))
FROM fruit;
