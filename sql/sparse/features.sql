{# What is stored of every feature. #}
SELECT
  names.place,
  names.feature,
  CASE WHEN EXISTS (FROM {{ values }} AS v WHERE v.place = names.place AND v.upper IS NOT NULL)
    THEN 'numeric' ELSE 'categorical' END,
  about.n_values, about.n, about.mi, about.rank, about.selected, about.weight
FROM {{ names }} AS names
JOIN {{ about }} AS about ON about.place = names.place
ORDER BY names.place
