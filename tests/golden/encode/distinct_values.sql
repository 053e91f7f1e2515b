-- how many values were counted
SELECT count(DISTINCT value), count(*) > count(value)
FROM counted_1;
