{# Summed counts under the numbers of a new model. #}
SELECT names.place, {{ "v.code" if has_values else "0" }}, k.code, summed.n
FROM {{ summed }} AS summed
JOIN {{ names }} AS names ON names.feature = summed.feature
JOIN {{ classes }} AS k ON k.class = summed.class
{% if has_values %}
JOIN {{ values }} AS v
  ON v.place = names.place
  AND v.value IS NOT DISTINCT FROM summed.value
  AND v.upper IS NOT DISTINCT FROM summed.upper
{% endif %}
ORDER BY ALL
