{# Every input row with the codes that scoring needs. #}
SELECT
  {{ items }}
  {% for item in codes %}
  , {{ item.code }} AS {{ item.alias }}
  {% endfor %}
FROM {{ relation }} AS i
{% for join in joins %}
{{ join }}
{% endfor %}
