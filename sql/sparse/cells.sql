{# The cells of a long table: row id, feature and, where there is one, value. To score, rows stay
   whose cells all say nothing: their feature is NULL. #}
SELECT
  i.{{ row }} AS r,
  {% if keeps_rows and conditions %}
  CASE WHEN {{ conditions | join(" AND ") }} THEN {{ feature }} END AS f
  {% else %}
  {{ feature }} AS f
  {% endif %}
  {% if value %}
  , {{ value }} AS v
  {% endif %}
FROM {{ relation }} AS i
{% if not keeps_rows and conditions %}
WHERE {{ conditions | join(" AND ") }}
{% endif %}
