-- probabilities of a network without a class
SELECT * EXCLUDE (class)
FROM (SELECT * FROM cpt);
