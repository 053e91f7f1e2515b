{# The steps of a model's history, the first one first. #}
SELECT step, action, changed_at::VARCHAR, source, rows, rows_skipped, total_rows, note
FROM {{ history }}
ORDER BY step
