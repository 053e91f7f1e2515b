{# Scored rows with what the log odds of any class are made of: the highest score, whose it is, and
   the logarithm of the sum of all others. #}
SELECT
  {{ kept }},
  {{ names.second }} + ln({{ others }}) AS {{ names.rest }}
FROM (
  SELECT
    *,
    greatest({% for j in classes %}{{ ", " if not loop.first }}CASE {{ names.best }} WHEN {{ j }} THEN NULL ELSE {{ names.score }}{{ j }} END{% endfor %}) AS {{ names.second }}
  FROM (
    SELECT
      *,
      CASE {{ names.highest }} {% for j in classes %}WHEN {{ names.score }}{{ j }} THEN {{ j }} {% endfor %}END AS {{ names.best }}
    FROM (SELECT *, {{ top }} AS {{ names.highest }} FROM ({{ labelled }}))
  )
)
