{# Rows of codes with a weight each; equal ones put together where there are many. #}
SELECT {{ columns | join(", ") }}, {{ total }} AS w
FROM {{ relation }}
{% if grouped %}
GROUP BY {{ columns | join(", ") }}
ORDER BY {{ columns | join(", ") }}
{% endif %}
