-- what is stored of features
SELECT
  names.place,
  names.feature,
  CASE WHEN EXISTS (FROM feature_values AS v WHERE v.place = names.place AND v.upper IS NOT NULL)
    THEN 'numeric' ELSE 'categorical' END,
  about.n_values, about.n, about.mi, about.rank, about.selected, about.weight
FROM feature_names AS names
JOIN features_4 AS about ON about.place = names.place
ORDER BY names.place;
