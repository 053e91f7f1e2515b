-- cells by place
SELECT c.n, c.y, names.place
FROM (SELECT r, f, v FROM cells) AS c
JOIN feature_names AS names ON names.feature = c.f;
