-- codes with a joined codebook and a weight
SELECT
  i."kind" AS y,
  d0.code AS x0,
  i."times" AS w
FROM fruit AS i
LEFT JOIN categories AS d0 ON d0.value = i."colour";
