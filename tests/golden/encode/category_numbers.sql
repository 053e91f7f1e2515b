-- how many categories attributes have
SELECT attribute, count(*), count(DISTINCT code), max(code) FILTER (WHERE value IS NULL)
FROM "model"."categories"
GROUP BY attribute;
