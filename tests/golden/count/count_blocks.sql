-- several blocks in one pass
SELECT k, sum(w) AS n
FROM (SELECT unnest([0::BIGINT + x0, 5::BIGINT + x1]) AS k, w FROM encoded_3)
GROUP BY k;
