{# The cells with the place of their feature instead of its name. #}
SELECT c.n, c.y, names.place{{ ", c.v" if has_value }}
FROM ({{ cells }}) AS c
JOIN {{ names }} AS names ON names.feature = c.f
