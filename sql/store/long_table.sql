{# All factors in one table, the keys of each behind those of the one before. #}
{% for factor in factors %}
{{ "UNION ALL" if not loop.first }}
SELECT CAST({{ factor.start }} + key AS {{ key_type }}) AS key{% for j in classes %}, l_{{ j }}{% endfor %}

FROM {{ factor.table }}
{% endfor %}
