{# Every row as codes: the class, the attributes, the weight where there is one. #}
SELECT
{% for item in items %}
  {{ item.code }} AS {{ item.alias }}{{ "," if not loop.last }}
{% endfor %}
FROM {{ relation }} AS i
{% for join in joins %}
{{ join }}
{% endfor %}
