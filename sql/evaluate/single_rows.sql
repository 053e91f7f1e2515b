{# Scored rows one by one: their key, their class, the predicted one, the probability of their own. #}
SELECT
  CAST({{ row }} AS BIGINT) AS "row",
  CASE {{ names.y }} {% for name in classes %}WHEN {{ loop.index0 }} THEN {{ name }} {% endfor %}END AS "class",
  CASE {% for name in classes %}WHEN {{ names.score }}{{ loop.index0 }} >= {{ names.top }} - {{ tie }} THEN {{ name }} {% endfor %}END AS predicted,
  coalesce(exp((CASE {{ names.y }} {% for name in classes %}WHEN {{ loop.index0 }} THEN {{ names.score }}{{ loop.index0 }} {% endfor %}END) - {{ names.top }}) / ({{ total }}), 0) AS p_true
FROM (SELECT *, {{ top }} AS {{ names.top }} FROM {{ scored }})
