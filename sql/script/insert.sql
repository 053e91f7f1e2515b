{# Rows of a table of a script. #}
INSERT INTO {{ table }} ({{ columns }}) VALUES
{{ rows | join(',\n') }}
