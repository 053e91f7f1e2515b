{# The macro `predict`: it runs a query whose text is made where it is called, with the rows and the
   schema of the helper tables in place, or tells of a column that the rows do not have.

   The schema is found by how its store is attached: of a table that the engine does not see, the
   marker, it says where one of that name is. That is 'm.bank__tables', or without the catalog where
   it is the one in USE. #}
{% set rows_plan = "json_serialize_plan(" ~ (("SELECT " ~ columns ~ " FROM ") | lit) ~ " || " ~ plain_rows ~ ")" %}
{% set marker_plan = "json_serialize_plan(" ~ (("FROM " ~ marker) | lit) ~ ")" %}
{% set found = "split_part(json_extract_string(" ~ marker_plan ~ ", '$.candidates'), " ~ (("." ~ marker) | lit) ~ ", 1)" %}
CREATE MACRO {{ macro }}(tbl) AS TABLE FROM query(
  CASE WHEN json_extract_string({{ rows_plan }}, '$.error_subtype') = 'COLUMN_NOT_FOUND'
    THEN error(
      {{ needs | lit }} || '''' || json_extract_string({{ rows_plan }}, '$.name') || ''''
      || ', which ' || CAST(tbl AS VARCHAR) || ' does not have'
    )
    ELSE replace(
      replace(
        {{ query | lit }},
        {{ prefix | lit }},
        coalesce(
          '"' || replace(
            CASE WHEN ends_with({{ found }}, {{ ("." ~ schema) | lit }})
              THEN left({{ found }}, -{{ schema | length + 1 }}) END,
            '"', '""'
          ) || '".',
          ''
        ) || {{ schema | id | lit }}
      ),
      {{ named_rows | lit }},
      {{ rows }}
    )
  END
)
