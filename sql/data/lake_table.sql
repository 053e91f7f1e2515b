{# The files of a Delta or Iceberg table: partition values by file, a number a row, no deleted rows. #}
SELECT
  {% for item in items %}
  {{ item.value }} AS {{ item.name | id }},
  {% endfor %}
  {{ row_key }} AS {{ row }}
FROM {{ scan }}
{% if gone %}
ANTI JOIN {{ gone }} ON file_index = gone_file AND file_row_number = gone_row
{% endif %}
