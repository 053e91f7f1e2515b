{# All factors in one table, the keys of each behind those of the one before. What a deeper level
   holds is what it changes of the level above, and of what is taken off that where it has no cell. #}
{% for prior in priors %}
{{ "UNION ALL" if not loop.first }}
SELECT
  CAST({{ prior.key }} AS {{ key_type }}) AS key
  , CAST({{ prior.key }} AS USMALLINT) AS member
  {% for log in prior.logs %}
  , {{ log }} AS l_{{ loop.index0 }}
  {% endfor %}
{% endfor %}
{% for factor in factors %}
{{ "UNION ALL" if priors or not loop.first }}
SELECT
  CAST({{ factor.start }} + f.key AS {{ key_type }}) AS key
  , CAST({{ factor.member }} AS USMALLINT) AS member
  {% for j in classes %}
  , f.l_{{ j }}{{ " - a.l_" ~ j if factor.above }}{{ " - d.l_" ~ j if factor.discount }} AS l_{{ j }}
  {% endfor %}
FROM {{ factor.table }} AS f
{% if factor.above %}
JOIN {{ factor.above }} AS a ON a.key = f.key // {{ factor.last }}
{% endif %}
{% if factor.discount %}
JOIN {{ factor.discount }} AS d ON d.key = f.key % {{ factor.parents }}
{% endif %}
{% endfor %}
