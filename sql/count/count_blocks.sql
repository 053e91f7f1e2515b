{# The observed cells of several blocks in one pass: each row has a key in every block, and the keys
   of a block begin where those of the last one end. #}
SELECT k, {{ total }} AS n
FROM (SELECT {{ keys }} AS k{{ ", w" if weighted }} FROM {{ relation }})
GROUP BY k
