{# The rows that have no combination of codes of which the probability is 0. #}
SELECT e.*
FROM {{ relation }} AS e
{% for family in families %}
ANTI JOIN {{ family.table }} AS {{ family.alias }} ON {{ family.alias }}.k = {{ family.key }}
{% endfor %}
