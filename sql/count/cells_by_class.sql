{# The cells of one attribute that were seen, as codes, with their counts by class. #}
SELECT
  {% for code in codes %}
  CAST({{ code }} AS INTEGER) AS c{{ loop.index0 }},
  {% endfor %}
  CAST({{ y }} AS INTEGER) AS y,
  n
FROM {{ counts }}
WHERE position = {{ position }}
ORDER BY key
