{# How many rows each piece of an order has, the pieces in that order. #}
SELECT {% for piece in pieces %}{{ piece.sql }} AS {{ piece.alias }}, {% endfor %}count(*) AS n
FROM ({{ statement }})
GROUP BY ALL
ORDER BY {% for piece in pieces %}{{ piece.alias }} NULLS LAST{{ ", " if not loop.last }}{% endfor %}

