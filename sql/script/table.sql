{# A table of a script, with what its database wants behind the columns. #}
CREATE TABLE {{ table }} ({{ columns }}){{ end }}
