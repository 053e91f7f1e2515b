{# An expression for the schema of the helper tables, as its store is attached here: of a table that
   the engine does not see it says where one of that name is. That is 'm.bank__tables', or without
   the catalog where it is the one in USE. #}
{% set plan = "json_serialize_plan(" ~ (("FROM " ~ marker) | lit) ~ ")" %}
{% set found %}split_part(json_extract_string({{ plan }}, '$.candidates'), {{ ("." ~ marker) | lit }}, 1){% endset %}
coalesce(
  '"' || replace(
    CASE WHEN ends_with({{ found }}, {{ ("." ~ schema) | lit }})
      THEN left({{ found }}, -{{ schema | length + 1 }}) END,
    '"', '""'
  ) || '".',
  ''
) || {{ schema | id | lit }}
