-- values of two columns
SELECT
  i.*
  , TRY_CAST(i."size" AS DOUBLE) AS __sqlbn_v0
  , TRY_CAST(i."colour" AS VARCHAR) AS __sqlbn_v1
FROM fruit AS i;
