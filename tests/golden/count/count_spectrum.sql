-- the spectrum of a weighted family
SELECT n, count(*) AS cells
FROM (
  SELECT sum(w) AS n
  FROM encoded
  GROUP BY (x0::BIGINT)*70000+x1
)
GROUP BY n
ORDER BY n;
