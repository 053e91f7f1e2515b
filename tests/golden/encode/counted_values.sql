-- values of a filtered column
SELECT TRY_CAST("colour" AS VARCHAR) AS value, count(*) AS n
FROM fruit
WHERE ("spots" > 1)
GROUP BY ALL;
