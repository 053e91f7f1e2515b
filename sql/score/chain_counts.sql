{# The counts of one level of back-off, by cell and class. #}
SELECT
  {{ key }} AS key,
  {{ parents_key }} AS parents_key,
  y,
  sum(n) AS n
FROM (
  SELECT
    {% for axis in axes %}
    {{ axis.code }} AS {{ axis.alias }},
    {% endfor %}
    n
  FROM {{ counts }}
  WHERE position = {{ position }}
)
{% for condition in present %}
{{ "AND" if not loop.first else "WHERE" }} {{ condition }}
{% endfor %}
GROUP BY ALL
