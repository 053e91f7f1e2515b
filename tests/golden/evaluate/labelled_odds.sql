-- scored rows of three classes with what their odds are made of
SELECT
  * EXCLUDE (__sqlbn_second),
  __sqlbn_second + ln(CASE __sqlbn_best WHEN 0 THEN 0 ELSE exp(__sqlbn_s0 - __sqlbn_second) END + CASE __sqlbn_best WHEN 1 THEN 0 ELSE exp(__sqlbn_s1 - __sqlbn_second) END + CASE __sqlbn_best WHEN 2 THEN 0 ELSE exp(__sqlbn_s2 - __sqlbn_second) END) AS __sqlbn_rest
FROM (
  SELECT
    *,
    greatest(CASE __sqlbn_best WHEN 0 THEN NULL ELSE __sqlbn_s0 END, CASE __sqlbn_best WHEN 1 THEN NULL ELSE __sqlbn_s1 END, CASE __sqlbn_best WHEN 2 THEN NULL ELSE __sqlbn_s2 END) AS __sqlbn_second
  FROM (
    SELECT
      *,
      CASE __sqlbn_highest WHEN __sqlbn_s0 THEN 0 WHEN __sqlbn_s1 THEN 1 WHEN __sqlbn_s2 THEN 2 END AS __sqlbn_best
    FROM (SELECT *, greatest(__sqlbn_s0, __sqlbn_s1, __sqlbn_s2) AS __sqlbn_highest FROM (SELECT * FROM scored))
  )
);
