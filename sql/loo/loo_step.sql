{# A few attributes: ratios multiplied, and after each attribute what the losses are made of. #}
SELECT
  {{ kept | join(", ") }}
  {% for term in terms %}
  , {{ term.sql }} AS {{ term.name }}
  {% endfor %}
FROM (
  SELECT
    {{ carried | join(", ") }}
    {% for product in products %}
    , {{ product.sql }} AS {{ product.name }}
    {% endfor %}
  FROM ({{ before }}) AS s
  {% for join in joins %}
  JOIN {{ join.relation }} AS {{ join.alias }} ON {{ join.alias }}.key = s.{{ join.key }}
  {% endfor %}
)
