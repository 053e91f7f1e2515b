{# What a table, a view, a column or a macro of a store is for. #}
COMMENT ON {{ kind }} {{ name }} IS {{ text | lit }}
