{# The prediction of a script as a view of its database. #}
CREATE VIEW {{ view }} AS
{{ query }}
