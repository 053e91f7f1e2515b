-- cells that are there twice
SELECT count(*), any_value(a), any_value(b)
FROM (
  SELECT "doc" AS a, "word" AS b
  FROM words
  GROUP BY ALL
  HAVING count(*) > 1
);
