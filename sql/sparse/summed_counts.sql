{# Counts of several parts added up. #}
SELECT feature, value, lower, upper, class, CAST(sum(n) AS BIGINT) AS n
FROM (
  {{ parts | join("\n  UNION ALL\n  ") }}
)
GROUP BY ALL
HAVING sum(n) <> 0
