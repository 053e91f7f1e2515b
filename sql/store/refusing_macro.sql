{# The macro `predict` of a model that is too large for one query. Without its parameter the error
   would be one when the macro is made. #}
CREATE MACRO {{ macro }}(tbl) AS TABLE
FROM query(error({{ refused | lit }} || left(CAST(tbl AS VARCHAR), 0)))
