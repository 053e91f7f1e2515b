-- scores of rows
SELECT
  r
  , -1.5e0 + COALESCE(sum(COALESCE(x.l_0, f.l_0)), 0) AS __sqlbn_s0
  , -0.5e0 + COALESCE(sum(COALESCE(x.l_1, f.l_1)), 0) AS __sqlbn_s1
  , bool_or(c.f IS NOT NULL AND f.feature IS NULL) AS unseen_feature
  , bool_or(f.feature IS NOT NULL AND x.code IS NULL) AS unseen_value
FROM (SELECT r, f, v FROM cells) AS c
LEFT JOIN "model"."predict_features" AS f ON f.feature = c.f
LEFT JOIN "model"."predict_values" AS x ON x.place = f.place AND x.value = c.v
GROUP BY r;

-- scores of rows whose cells have no value
SELECT
  r
  , -1.5e0 + COALESCE(sum(f.l_0), 0) AS __sqlbn_s0
  , -0.5e0 + COALESCE(sum(f.l_1), 0) AS __sqlbn_s1
FROM (SELECT r, f, v FROM cells) AS c
LEFT JOIN "model"."predict_features" AS f ON f.feature = c.f
GROUP BY r;
