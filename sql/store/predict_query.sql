{# The rows of `predict` in their order. #}
SELECT * EXCLUDE ({{ row }}) FROM ({{ scored }}) ORDER BY {{ row }}
