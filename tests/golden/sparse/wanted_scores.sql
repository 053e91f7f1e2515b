-- scores of rows that are wanted
SELECT
  w.r
  , COALESCE(s.__sqlbn_s0, -1.5e0) AS __sqlbn_s0
  , COALESCE(s.__sqlbn_s1, -0.5e0) AS __sqlbn_s1
  , COALESCE(s.unseen_feature, false) AS unseen_feature
  , COALESCE(s.unseen_value, false) AS unseen_value
FROM (SELECT r FROM labels) AS w
LEFT JOIN (SELECT * FROM scored) AS s ON s.r = w.r;
