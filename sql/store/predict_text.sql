{# An expression, over the parameter `tbl`, for the text of a prediction query: with the schema and
   the rows in place, or an error for a column that these do not have. #}
{% set plan = "json_serialize_plan(" ~ (("SELECT " ~ columns ~ " FROM ") | lit) ~ " || " ~ plain_rows ~ ")" %}
CASE WHEN json_extract_string({{ plan }}, '$.error_subtype') = 'COLUMN_NOT_FOUND'
  THEN error(
    {{ needs | lit }} || '''' || json_extract_string({{ plan }}, '$.name') || '''' || ', which '
    || CAST(tbl AS VARCHAR) || ' does not have'
  )
  ELSE replace(replace({{ query | lit }}, {{ prefix | lit }}, {{ schema }}), {{ named_rows | lit }}, {{ rows }})
END
