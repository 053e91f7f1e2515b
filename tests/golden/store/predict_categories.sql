-- categories that predict joins
SELECT attribute, code, value
FROM "m"."fruit"."categories";
