{# How often the values of sets of features meet in rows that have the first of them. #}
SELECT s.number, a.x AS x0{% for i in others %}, b{{ i }}.x AS x{{ i }}{% endfor %}, a.y, count(*) AS n
FROM {{ sets }} AS s
JOIN {{ cells }} AS a ON a.f = s.v0
{% for i in others %}
LEFT JOIN {{ cells }} AS b{{ i }} ON b{{ i }}.n = a.n AND b{{ i }}.f = s.v{{ i }}
{% endfor %}
GROUP BY ALL
