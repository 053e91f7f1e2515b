-- A model in SQL, with the duckdb program and nothing else:
--   sqlbn fit examples/adult.parquet --target class --effort quick --store census.duckdb --name adult
--   duckdb < examples/sql_session.sql
ATTACH 'census.duckdb' AS m (READ_ONLY);
USE m.adult;

-- What is in it?
SELECT key, value FROM meta WHERE key IN ('learner', 'options', 'rows', 'created_at');
SELECT class, n FROM classes ORDER BY code;
SELECT rank, attribute, kind, n_values, round(mi, 4) AS mi FROM attributes ORDER BY rank LIMIT 5;
SELECT attribute, parent, round(cmi, 4) AS cmi FROM parents WHERE attribute = 'occupation' ORDER BY rank;

-- How was it chosen? The best of all nested models by leave-one-out.
SELECT k, n_attributes, round(value, 5) AS rmse FROM loocv WHERE loss = 'rmse' ORDER BY value LIMIT 3;

-- The probabilities, readable.
SELECT sex, relationship, class, n, round(probability, 4) AS probability
FROM cpt_sex WHERE occupation = 'Sales' ORDER BY relationship, sex, class LIMIT 6;

-- Score a file: all its columns, the prediction, a probability for each class.
SELECT age, occupation, prediction, round("p_>50K", 3) AS "p_>50K"
FROM predict('examples/adult.parquet') LIMIT 5;

-- Score part of it through a CTE, and compare with the truth.
WITH women AS (SELECT * FROM 'examples/adult.parquet' WHERE sex = 'Female')
SELECT class, prediction, count(*) AS n FROM predict('women') GROUP BY ALL ORDER BY ALL;

-- A table of one's own: both schemas on the search path.
CREATE TABLE memory.main.applicants AS SELECT * FROM 'examples/adult.parquet' WHERE age BETWEEN 30 AND 32;
SET search_path = 'memory.main,m.adult';
SELECT prediction, count(*) AS n FROM predict('applicants') GROUP BY ALL ORDER BY ALL;
