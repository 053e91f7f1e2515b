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

-- scores of rows with features that depend on others
WITH coded AS (
  SELECT
    c.r, c.f, f.feature, f.place,
    COALESCE(x.code, 4294967295) AS code
    , COALESCE(x.l_0, f.l_0) AS l_0
    , COALESCE(x.l_1, f.l_1) AS l_1
  FROM (SELECT r, f, v FROM cells) AS c
  LEFT JOIN "model"."predict_features" AS f ON f.feature = c.f
  LEFT JOIN "model"."predict_values" AS x ON x.place = f.place AND x.value = c.v
),
joint_1 AS (
  SELECT c.r, t.number
  FROM coded AS c
  JOIN "model"."predict_together" AS t ON t.level = 1 AND t.place = c.place AND t.code = c.code
)
, joint_2 AS (
  SELECT a.r, t.number, t.l_0, t.l_1
  FROM joint_1 AS a
  JOIN "model"."predict_together" AS t ON t.level = 2 AND t.prefix = a.number
  JOIN coded AS c ON c.r = a.r AND c.place = t.place AND c.code = t.code
)
, joint_3 AS (
  SELECT a.r, t.number, t.l_0, t.l_1
  FROM joint_2 AS a
  JOIN "model"."predict_together" AS t ON t.level = 3 AND t.prefix = a.number
  JOIN coded AS c ON c.r = a.r AND c.place = t.place AND c.code = t.code
)
SELECT
  r
  , -1.5e0 + COALESCE(sum(l_0), 0) AS __sqlbn_s0
  , -0.5e0 + COALESCE(sum(l_1), 0) AS __sqlbn_s1
  , bool_or(f IS NOT NULL AND feature IS NULL) AS unseen_feature
  , bool_or(feature IS NOT NULL AND code = 4294967295) AS unseen_value
FROM (
  SELECT r, f, feature, code, l_0, l_1 FROM coded
  UNION ALL
  SELECT r, NULL, NULL, 0, l_0, l_1 FROM joint_2
  UNION ALL
  SELECT r, NULL, NULL, 0, l_0, l_1 FROM joint_3
)
GROUP BY r;
