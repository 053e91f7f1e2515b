{# How many values each of some columns lacks. #}
SELECT
  {% for column in columns %}
  count(*) - count({{ column | id }}){{ "," if not loop.last }}
  {% endfor %}
FROM {{ table }}
