{# The values of two models put together, all types one after the other. #}
{% for values in parts %}
{{ "UNION ALL " if not loop.first }}({{ values }})
{% endfor %}
