-- terms of the losses of left-out rows in the long form
SELECT
  y, w, place
  , 1 - own / (own + r1) AS e
FROM (
  SELECT
    y, w, place,
    top
    , exp(-top) AS own
    , exp(l1 - top) AS r1
  FROM (
    SELECT *, greatest(0e0, l1) AS top
    FROM (FROM summed)
  )
);
