-- rows and ranges of a text and a number
SELECT
  count(*) AS n_rows
  , count("colour")
  , NULL
  , NULL
  , count("weight")
  , min("weight")
  , max("weight")
FROM fruit;
