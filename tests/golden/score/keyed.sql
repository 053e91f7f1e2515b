-- a table from arrays, two codes and two classes
CREATE TABLE "m".predict_factor_3 AS
SELECT
  (c0::UINTEGER)*3+c1 AS key
  , l_0
  , l_1
FROM arrays;
