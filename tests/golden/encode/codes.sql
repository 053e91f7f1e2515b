-- the codes of one joined attribute
SELECT
  i.*
  , d0.code AS __sqlbn_c0
FROM fruit AS i
LEFT JOIN categories AS d0 ON d0.value = i."colour";
