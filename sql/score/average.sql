{# Logarithms of sums over super parents, of the highest level that has any. The sums are kept in
   steps of e^512, so that nothing over- or underflows: the highest step and the one below it are
   all that counts. #}
SELECT
  {% for key in identity %}
  {{ key.alias }},
  {% endfor %}
  {% for j in classes %}
  {{ logs[j] }} AS {{ names.score }}{{ j }}{{ "," if not loop.last }}
  {% endfor %}
FROM (
  SELECT
    {% for key in identity %}
    {{ key.any }} AS {{ key.alias }},
    {% endfor %}
    {{ tops | join("\n    , ") }}
  FROM ({{ sums }})
  GROUP BY {{ names.row }}
)
