{# At most `size` rows of the numeric columns, chosen by the shuffled row number alone. #}
SELECT {{ kept }} FROM (
  SELECT
    {% for column in columns %}
    {{ column.value }} AS {{ column.alias }},
    {% endfor %}
    {{ weight }} AS w,
    {{ shuffle }} AS shuffle,
    {{ row_key }} AS row_key
  FROM {{ relation }}
  {{ where }}
)
WHERE shuffle < {{ threshold }}
ORDER BY shuffle, row_key
LIMIT {{ size }}
