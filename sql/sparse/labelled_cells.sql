{# The cells of rows that have a class. #}
SELECT rows.n, rows.y, c.f{{ ", c.v" if has_value }}
FROM ({{ cells }}) AS c
JOIN {{ rows }} AS rows ON rows.id = c.r
