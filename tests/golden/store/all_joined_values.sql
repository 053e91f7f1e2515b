-- values of two types
(SELECT * FROM texts)
UNION ALL (SELECT * FROM numbers);
