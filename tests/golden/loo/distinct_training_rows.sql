-- rows of codes with their weights
SELECT x0, x1, y, w::DOUBLE AS w
FROM encoded_3;

-- many rows of codes, equal ones put together
SELECT x0, x1, y, (count(*))::DOUBLE AS w
FROM encoded_3
GROUP BY x0, x1, y
ORDER BY x0, x1, y;
