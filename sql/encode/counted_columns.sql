{# The different values of several columns of one type, and how many rows have each, in one pass: a
   row unfolds into one a column. #}
SELECT cell.place AS place, cell.value AS value, {{ "sum(w)" if weight else "count(*)" }} AS n
FROM (
  SELECT {{ cells }} AS cell{{ ", " ~ weight ~ " AS w" if weight }}
  FROM {{ relation }}
  {{ where }}
)
GROUP BY ALL
