-- projected cells with numbers
SELECT
  r,
  f
  , sum(v ORDER BY v) AS v
FROM (SELECT r, f, v FROM cells)
GROUP BY r, f;

-- projected cells
SELECT
  r,
  f
FROM (SELECT r, f, v FROM cells)
GROUP BY r, f;
