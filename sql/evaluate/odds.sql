{# The different odds of a class, and the weight of its rows and of all others that have them, in
   whole units; others below the last row of the class play no part. #}
SELECT
  {{ code }} AS code,
  odds,
  CAST(coalesce(sum(w) FILTER (WHERE y = {{ code }}), 0) * {{ weight_unit }} AS BIGINT) AS own,
  CAST(coalesce(sum(w) FILTER (WHERE y <> {{ code }}), 0) * {{ weight_unit }} AS BIGINT) AS other
FROM (SELECT {{ names.y }} AS y, {{ names.w }} AS w, {{ odds }} AS odds FROM {{ relation }})
WHERE
  y < {{ n_classes }}
  AND odds >= (SELECT min({{ odds }}) - {{ tie }} FROM {{ relation }} WHERE {{ names.y }} = {{ code }})
GROUP BY odds
