-- a block of two attributes and the class
SELECT ((x0::UINTEGER)*5+x1)*2+y AS k, count(*) AS n
FROM encoded
GROUP BY k;
