{# The terms of the losses from the logarithms of ratios, divided by the largest. #}
SELECT
  {{ kept | join(", ") }}
  {% if place %}
  , {{ place }} AS place
  {% endif %}
  {% for term in terms %}
  , {{ term.sql }} AS {{ term.name }}
  {% endfor %}
FROM (
  SELECT
    {{ kept | join(", ") }},
    top
    , {{ own }} AS own
    {% for ratio in ratios %}
    , {{ ratio.sql }} AS {{ ratio.name }}
    {% endfor %}
  FROM (
    SELECT *, {{ top }} AS top
    FROM ({{ summed }})
  )
)
