-- rows of predict
(
  SELECT *, row_number() OVER () AS __sqlbn_row
  FROM (FROM __sqlbn_7_rows) AS "rows for the model fruit"
  WHERE (
    true
    OR "rows for the model fruit"."colour" IS NULL
    OR "rows for the model fruit"."a""b" IS NULL
  )
  AND CASE typeof("rows for the model fruit"."colour") WHEN 'BOOLEAN'
    THEN error('this column is BOOLEAN here: colour')::BOOLEAN ELSE true END
);
