-- whether ranks count from 0 on
SELECT count(*), count(DISTINCT "rank"), min("rank"), max("rank")
FROM "model"."attributes";
