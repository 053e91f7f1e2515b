-- rows without the impossible cells of two families
SELECT e.*
FROM encoded_3 AS e
ANTI JOIN impossible_4 AS b0 ON b0.k = (x0::UINTEGER)*3+x1
ANTI JOIN impossible_5 AS b1 ON b1.k = x2::UINTEGER;
