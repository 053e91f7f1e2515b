-- the values of two columns of a type in one pass
SELECT cell.place AS place, cell.value AS value, sum(w) AS n
FROM (
  SELECT unnest([{'place': 0, 'value': a}, {'place': 1, 'value': b}]) AS cell, w AS w
  FROM fruit
  WHERE (y IS NOT NULL)
)
GROUP BY ALL;
