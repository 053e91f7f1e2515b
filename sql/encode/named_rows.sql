{# The rows of several statements, each behind the name of its attribute. #}
{% for attribute, rows in named %}
{{ "UNION ALL" if not loop.first }}
SELECT {{ attribute | lit }}, *
FROM ({{ rows }})
{% endfor %}
