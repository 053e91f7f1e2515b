-- cells with values
SELECT
  i."doc" AS r,
  CAST(i."word" AS VARCHAR) AS f
  , CAST(i."what" AS VARCHAR) AS v
FROM words AS i
WHERE CAST(i."word" AS VARCHAR) <> 'sort' AND i."what" IS NOT NULL;

-- cells to score, without values
SELECT
  i."doc" AS r,
  CASE WHEN CAST(i."word" AS VARCHAR) <> 'sort' THEN CAST(i."word" AS VARCHAR) END AS f
FROM words AS i;
