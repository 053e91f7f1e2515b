-- history of a model
SELECT step, action, changed_at::VARCHAR, source, rows, rows_skipped, total_rows, note
FROM "model"."history"
ORDER BY step;
