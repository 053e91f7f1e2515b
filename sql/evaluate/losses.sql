{# Losses of scored rows by true and predicted class: every figure of an evaluation is a sum of these. #}
SELECT
  y,
  predicted,
  sum(w) AS n,
  sum(w * (1 - p) * (1 - p)) AS squared,
  sum(w * -log_p) AS log_loss,
  sum(w * (squares - 2 * p + 1)) AS brier,
  count(*) AS n_rows
FROM (
  SELECT
    {{ names.y }} AS y,
    {{ names.w }} AS w,
    CASE {% for j in classes %}WHEN {{ names.score }}{{ j }} >= {{ names.top }} - {{ tie }} THEN {{ j }} {% endfor %}END AS predicted,
    (CASE {{ names.y }} {% for j in classes %}WHEN {{ j }} THEN {{ names.weight }}{{ j }} {% endfor %}END) / total AS p,
    (CASE {{ names.y }} {% for j in classes %}WHEN {{ j }} THEN {{ names.score }}{{ j }} {% endfor %}END) - {{ names.top }} - ln(total) AS log_p,
    ({{ squares }}) / (total * total) AS squares
  FROM (
    SELECT *, {{ total }} AS total
    FROM (
      SELECT *{% for j in classes %}, exp({{ names.score }}{{ j }} - {{ names.top }}) AS {{ names.weight }}{{ j }}{% endfor %}

      FROM (SELECT *, {{ top }} AS {{ names.top }} FROM ({{ scored }}))
    )
  )
)
GROUP BY y, predicted
ORDER BY y, predicted
