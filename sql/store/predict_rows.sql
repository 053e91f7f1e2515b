{# The rows of `predict` with their number. Of a CTE only the query itself can be asked for columns:
   what is lacking is told by an alias that names the model. In columns of text, true and false are
   no values: {{ boolean }} is told of one that is BOOLEAN here. #}
(
  SELECT *, row_number() OVER () AS {{ row }}
  FROM (FROM {{ rows }}) AS {{ alias | id }}
  WHERE (
    true
    {% for column in columns %}
    OR {{ alias | id }}.{{ column | id }} IS NULL
    {% endfor %}
  )
  {% for column in texts %}
  AND CASE typeof({{ alias | id }}.{{ column | id }}) WHEN 'BOOLEAN'
    THEN error({{ (boolean ~ column) | lit }})::BOOLEAN ELSE true END
  {% endfor %}
)
