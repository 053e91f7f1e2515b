-- rows and ranges of a text and a number
SELECT
  count(*) AS n_rows
  , count("colour")
  , NULL
  , NULL
  , count("n")
  , min("n") = max("n")
  , max("n") - min("n")
FROM fruit;
