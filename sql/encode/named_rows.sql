{# The rows of a statement behind the name of their attribute. #}
SELECT {{ attribute | lit }}, *
FROM ({{ rows }})
