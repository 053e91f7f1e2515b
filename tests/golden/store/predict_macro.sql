-- the macro predict
CREATE MACRO "m"."fruit"."predict"(tbl) AS TABLE FROM query(
  CASE WHEN json_extract_string(json_serialize_plan('SELECT "colour" FROM ' || 'query_table(' || tbl || ')'), '$.error_subtype') = 'COLUMN_NOT_FOUND'
    THEN error(
      'the model ''fruit'' needs the column ' || '''' || json_extract_string(json_serialize_plan('SELECT "colour" FROM ' || 'query_table(' || tbl || ')'), '$.name') || ''''
      || ', which ' || CAST(tbl AS VARCHAR) || ' does not have'
    )
    ELSE replace(
      replace(
        'SELECT * FROM __sqlbn_7_rows JOIN __sqlbn_7_tables.x USING (k)',
        '__sqlbn_7_tables',
        coalesce(
          '"' || replace(
            CASE WHEN ends_with(split_part(json_extract_string(json_serialize_plan('FROM predict_marker_7'), '$.candidates'), '.predict_marker_7', 1), '.fr"uit__tables')
              THEN left(split_part(json_extract_string(json_serialize_plan('FROM predict_marker_7'), '$.candidates'), '.predict_marker_7', 1), -15) END,
            '"', '""'
          ) || '".',
          ''
        ) || '"fr""uit__tables"'
      ),
      '__sqlbn_7_rows',
      'read_csv(' || tbl || ')'
    )
  END
);
