-- a Delta table by day, some of its rows deleted
SELECT
  c0 AS "wei""ght",
  CAST(['2024-02-29'] AS DATE[])[(file_index + 1)::BIGINT] AS "day",
  (file_index::UBIGINT * 1099511627776 + file_row_number) AS __sqlbn_source_row
FROM read_parquet(['a.parquet'])
ANTI JOIN sqlbn_deleted_1 ON file_index = gone_file AND file_row_number = gone_row;
