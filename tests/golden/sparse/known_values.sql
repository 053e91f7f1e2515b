-- values of a known model
SELECT names.place, known.upper
FROM feature_names AS names
JOIN (SELECT feature, upper FROM known) AS known ON known.feature = names.feature;
