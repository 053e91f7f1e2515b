-- distinct values of one column
SELECT count(*) FROM (
  SELECT "id" AS value FROM fruit  GROUP BY ALL
) WHERE value IS NOT NULL;
