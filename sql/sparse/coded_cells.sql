{# The cells of some features, by their numbers among these, with codes; g numbers all codes. #}
SELECT
  c.n, c.y, chosen.f,
  {{ "x.code" if match else "0" }} AS x,
  chosen.start + {{ "x.code" if match else "0" }} AS g
FROM {{ cells }} AS c
JOIN (SELECT place, start, CAST(row_number() OVER (ORDER BY place) - 1 AS UINTEGER) AS f FROM {{ chosen }}) AS chosen
  ON chosen.place = c.place
{% if match %}
JOIN {{ values }} AS x ON x.place = c.place AND {{ match }}
{% endif %}
