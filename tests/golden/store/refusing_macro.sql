-- a macro that refuses
CREATE MACRO "m"."fruit"."predict"(tbl) AS TABLE
FROM query(error('it''s too large' || left(CAST(tbl AS VARCHAR), 0)));
