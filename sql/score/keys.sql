{# Codes give way to one packed key a factor: what a join does not need is not carried through it. #}
SELECT
  {{ kept }}
  {% for key in keys %}
  , {{ key.sql }} AS {{ key.alias }}
  {% endfor %}
  {% for start in starts %}
  , {{ start }} AS {{ names.score }}{{ loop.index0 }}
  {% endfor %}
FROM ({{ coded }})
