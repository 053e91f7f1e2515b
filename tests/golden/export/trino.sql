-- sqlbn: kdb of 'class' for trino, 12 training rows.
-- First the tables of the model, to be made once; then the prediction. Its input has
-- these columns, with the types of training:
--   "it's" VARCHAR
--   'size' DOUBLE
--   'day' DATE

CREATE TABLE "small_factor_0" ("key" BIGINT, "l_0" DOUBLE, "l_1" DOUBLE);
INSERT INTO "small_factor_0" ("key", "l_0", "l_1") VALUES
(0, -2.310553e0, -2.310553e0),
(1, -2.821379e0, -2.821379e0),
(2, -1.840550e0, -1.840550e0),
(3, -2.821379e0, -2.602690e0),
(4, -2.310553e0, -2.602690e0),
(5, -1.840550e0, -1.909543e0),
(6, -4.836282e0, -3.449988e0),
(7, -4.836282e0, -3.044522e0),
(8, -4.143135e0, -2.756840e0),
(9, -1.791759e0, -1.791759e0),
(10, -1.791759e0, -1.791759e0),
(11, -1.098612e0, -1.098612e0),
(12, -2.310553e0, -2.310553e0),
(13, -2.821379e0, -2.821379e0),
(14, -1.840550e0, -1.840550e0),
(15, -2.821379e0, -2.602690e0),
(16, -2.310553e0, -2.602690e0),
(17, -1.840550e0, -1.909543e0),
(18, -4.836282e0, -3.449988e0),
(19, -4.836282e0, -3.044522e0),
(20, -4.143135e0, -2.756840e0),
(21, -1.791759e0, -1.791759e0),
(22, -1.791759e0, -1.791759e0),
(23, -1.098612e0, -1.098612e0),
(24, -2.310553e0, -2.310553e0),
(25, -2.821379e0, -2.821379e0),
(26, -1.840550e0, -1.840550e0),
(27, -2.821379e0, -3.988984e0),
(28, -2.310553e0, -3.988984e0),
(29, -1.840550e0, -3.295837e0),
(30, -4.836282e0, -2.756840e0),
(31, -4.836282e0, -2.351375e0),
(32, -4.143135e0, -2.063693e0),
(33, -1.791759e0, -1.791759e0),
(34, -1.791759e0, -1.791759e0),
(35, -1.098612e0, -1.098612e0),
(36, -1.211941e0, -1.211941e0),
(37, -1.722767e0, -1.722767e0),
(38, -0.741937e0, -0.741937e0),
(39, -1.722767e0, -1.791759e0),
(40, -1.211941e0, -1.791759e0),
(41, -0.741937e0, -1.098612e0),
(42, -3.737670e0, -2.351375e0),
(43, -3.737670e0, -1.945910e0),
(44, -3.044522e0, -1.658228e0),
(45, -0.693147e0, -0.693147e0),
(46, -0.693147e0, -0.693147e0),
(47, 0.000000e0, 0.000000e0);

SELECT
  "it's",
  "size",
  "day",
  CAST(CASE
    WHEN "__sqlbn_s0" >= "__sqlbn_top" - 1e-10
    THEN 'no'
    WHEN "__sqlbn_s1" >= "__sqlbn_top" - 1e-10
    THEN 'yes'
  END AS VARCHAR) AS "prediction",
  CAST("__sqlbn_e0" AS DOUBLE) / "__sqlbn_total" AS "p_no",
  CAST("__sqlbn_e1" AS DOUBLE) / "__sqlbn_total" AS "p_yes"
FROM (
  SELECT
    *,
    "__sqlbn_e0" + "__sqlbn_e1" AS "__sqlbn_total"
  FROM (
    SELECT
      *,
      CASE
        WHEN "__sqlbn_s0" - "__sqlbn_top" < -700
        THEN 0e0
        ELSE EXP("__sqlbn_s0" - "__sqlbn_top")
      END AS "__sqlbn_e0",
      CASE
        WHEN "__sqlbn_s1" - "__sqlbn_top" < -700
        THEN 0e0
        ELSE EXP("__sqlbn_s1" - "__sqlbn_top")
      END AS "__sqlbn_e1"
    FROM (
      SELECT
        *,
        GREATEST("__sqlbn_s0", "__sqlbn_s1") AS "__sqlbn_top"
      FROM (
        SELECT
          "s"."it's",
          "s"."size",
          "s"."day",
          "s"."__sqlbn_s0" + "f0"."l_0" AS "__sqlbn_s0",
          "s"."__sqlbn_s1" + "f0"."l_1" AS "__sqlbn_s1"
        FROM (
          SELECT
            "it's",
            "size",
            "day",
            (
              (
                CAST("__sqlbn_c0" AS BIGINT)
              ) * 4 + "__sqlbn_c1"
            ) * 3 + "__sqlbn_c2" AS "__sqlbn_k0",
            CAST(-0.693147e0 AS DOUBLE) AS "__sqlbn_s0",
            CAST(-0.693147e0 AS DOUBLE) AS "__sqlbn_s1"
          FROM (
            SELECT
              "i"."it's",
              "i"."size",
              "i"."day",
              CAST(CASE CAST("i"."it's" AS VARCHAR)
                WHEN 'a\b'
                THEN 0
                WHEN 'ü'
                THEN 1
                ELSE CASE WHEN "i"."it's" IS NULL THEN 2 ELSE 3 END
              END AS SMALLINT) AS "__sqlbn_c0",
              CAST(CASE
                WHEN CAST("i"."size" AS DOUBLE) IS NULL OR IS_NAN(CAST("i"."size" AS DOUBLE))
                THEN 2
                ELSE CASE WHEN CAST("i"."size" AS DOUBLE) <= 2.500000e0 THEN 0 ELSE 1 END
              END AS SMALLINT) AS "__sqlbn_c1",
              CAST(CASE
                WHEN "i"."day" IS NULL
                THEN 2
                ELSE CASE WHEN "i"."day" <= CAST('2024-01-02' AS DATE) THEN 0 ELSE 1 END
              END AS SMALLINT) AS "__sqlbn_c2"
            FROM "new_rows" AS "i"
          ) AS "q5"
        ) AS "s"
        JOIN "small_factor_0" AS "f0"
          ON "f0"."key" = "s"."__sqlbn_k0"
      ) AS "q4"
    ) AS "q3"
  ) AS "q2"
) AS "q1";
