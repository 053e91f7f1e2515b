-- left-out rows and their super parents, with a shift and dropped values
SELECT
  k.r, k.y, k.g1
  , p.level AS level
  , (p.number::UINTEGER)*3+k.x0 AS k0
  , p.l_0 AS s0
  , p.l_1 AS s1
  , k.gone[t.turn] AS gone
  , m.m0
  , m.m1
FROM (
  SELECT
    r, y, x0, x1, g1
    , [(0 + x0) * 2 + y, (3 + x1) * 2 + y, (6 + 0) * 2 + y] AS base
    , [least(3), least(3, g1), least(3)] AS gone
  FROM (SELECT * FROM rows)
) AS k
CROSS JOIN range(1, 4) AS t(turn)
JOIN loo_3 AS p ON p.key = k.base[t.turn]
JOIN loo_maxima_4 AS m ON m.id = k.r * 2 + p.level;
