-- comment of a column
COMMENT ON COLUMN "m"."fruit"."cuts"."code" IS 'it''s a number';
