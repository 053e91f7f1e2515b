{# The values of a known model's features, by their places here. #}
SELECT names.place, known.upper
FROM {{ names }} AS names
JOIN ({{ known }}) AS known ON known.feature = names.feature
