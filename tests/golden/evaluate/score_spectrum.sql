-- rows of every log score of their own class
SELECT l, sum(__sqlbn_w)::BIGINT AS n
FROM (SELECT __sqlbn_w, [__sqlbn_s0, __sqlbn_s1][__sqlbn_y + 1] AS l FROM (SELECT * FROM scored))
GROUP BY l;
