{# The parts of every feature with numbers: its values where they are few and whole, else intervals
   of equal frequency. A cut is the smallest value with at least j / bins of the cells at or below
   it; none is at the largest. Features of a known model keep their kind and their cuts. #}
WITH counted AS (
  SELECT place, v, sum(n) AS n FROM {{ totals }} GROUP BY place, v
),
ranked AS (
  SELECT
    place, v, n,
    sum(n) OVER (PARTITION BY place ORDER BY v) AS below,
    sum(n) OVER (PARTITION BY place) AS total,
    {% if known %}
    COALESCE(known.is_few, {{ is_few }}) AS is_few,
    known.place IS NOT NULL AS is_known
    {% else %}
    {{ is_few }} AS is_few,
    false AS is_known
    {% endif %}
  FROM counted
  {% if known %}
  LEFT JOIN (SELECT place, bool_and(upper IS NULL) AS is_few FROM {{ known }} GROUP BY place) AS known USING (place)
  {% endif %}
),
cuts AS (
  SELECT place, v AS upper
  FROM ranked
  WHERE NOT is_few AND NOT is_known AND below < total AND below * {{ bins }} // total > (below - n) * {{ bins }} // total
  UNION ALL
  SELECT DISTINCT place, CAST('inf' AS DOUBLE) FROM ranked WHERE NOT is_few AND NOT is_known
  {% if known %}
  UNION ALL
  SELECT place, upper FROM {{ known }} WHERE upper IS NOT NULL
  {% endif %}
),
intervals AS (
  SELECT
    place, upper,
    lag(upper, 1, CAST('-inf' AS DOUBLE)) OVER (PARTITION BY place ORDER BY upper) AS lower,
    CAST(row_number() OVER (PARTITION BY place ORDER BY upper) - 1 AS UINTEGER) AS code
  FROM cuts
)
SELECT
  place,
  CAST(row_number() OVER (PARTITION BY place ORDER BY v) - 1 AS UINTEGER) AS code,
  CAST(TRY_CAST(v AS BIGINT) AS VARCHAR) AS value,
  CAST(NULL AS DOUBLE) AS lower,
  CAST(NULL AS DOUBLE) AS upper,
  n
FROM ranked
WHERE is_few
UNION ALL
SELECT i.place, i.code, NULL, i.lower, i.upper, COALESCE(sum(c.n), 0)
FROM intervals AS i
LEFT JOIN counted AS c ON c.place = i.place AND c.v > i.lower AND c.v <= i.upper
GROUP BY ALL
