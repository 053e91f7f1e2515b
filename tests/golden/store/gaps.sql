-- values that columns lack
SELECT
  count(*) - count("code"),
  count(*) - count("class")
FROM "model"."classes";
