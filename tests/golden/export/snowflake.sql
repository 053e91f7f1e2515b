-- sqlbn: kdb of 'class' for snowflake, 12 training rows.
-- First the tables of the model, to be made once; then the prediction. Its input has
-- these columns, with the types of training:
--   "it's" VARCHAR
--   'size' DOUBLE
--   'day' DATE

CREATE TABLE "SMALL_FACTOR_0" ("KEY" BIGINT, "L_0" DOUBLE, "L_1" DOUBLE);
INSERT INTO "SMALL_FACTOR_0" ("KEY", "L_0", "L_1") VALUES
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
  "SIZE",
  "DAY",
  CAST(CASE
    WHEN "__SQLBN_S0" >= "__SQLBN_TOP" - 1e-10
    THEN 'no'
    WHEN "__SQLBN_S1" >= "__SQLBN_TOP" - 1e-10
    THEN 'yes'
  END AS VARCHAR) AS "PREDICTION",
  "__SQLBN_E0" / "__SQLBN_TOTAL" AS "P_NO",
  "__SQLBN_E1" / "__SQLBN_TOTAL" AS "P_YES"
FROM (
  SELECT
    *,
    "__SQLBN_E0" + "__SQLBN_E1" AS "__SQLBN_TOTAL"
  FROM (
    SELECT
      *,
      CASE
        WHEN "__SQLBN_S0" - "__SQLBN_TOP" < -700
        THEN 0e0
        ELSE EXP("__SQLBN_S0" - "__SQLBN_TOP")
      END AS "__SQLBN_E0",
      CASE
        WHEN "__SQLBN_S1" - "__SQLBN_TOP" < -700
        THEN 0e0
        ELSE EXP("__SQLBN_S1" - "__SQLBN_TOP")
      END AS "__SQLBN_E1"
    FROM (
      SELECT
        *,
        GREATEST_IGNORE_NULLS("__SQLBN_S0", "__SQLBN_S1") AS "__SQLBN_TOP"
      FROM (
        SELECT
          "S"."it's",
          "S"."SIZE",
          "S"."DAY",
          "S"."__SQLBN_S0" + "F0"."L_0" AS "__SQLBN_S0",
          "S"."__SQLBN_S1" + "F0"."L_1" AS "__SQLBN_S1"
        FROM (
          SELECT
            "it's",
            "SIZE",
            "DAY",
            (
              (
                CAST("__SQLBN_C0" AS BIGINT)
              ) * 4 + "__SQLBN_C1"
            ) * 3 + "__SQLBN_C2" AS "__SQLBN_K0",
            CAST(-0.693147e0 AS DOUBLE) AS "__SQLBN_S0",
            CAST(-0.693147e0 AS DOUBLE) AS "__SQLBN_S1"
          FROM (
            SELECT
              "I"."it's",
              "I"."SIZE",
              "I"."DAY",
              CAST(CASE CAST("I"."it's" AS VARCHAR)
                WHEN 'a\\b'
                THEN 0
                WHEN 'ü'
                THEN 1
                ELSE CASE WHEN "I"."it's" IS NULL THEN 2 ELSE 3 END
              END AS SMALLINT) AS "__SQLBN_C0",
              CAST(CASE
                WHEN CAST("I"."SIZE" AS DOUBLE) IS NULL
                OR CAST("I"."SIZE" AS DOUBLE) = CAST('NaN' AS DOUBLE)
                THEN 2
                ELSE CASE WHEN CAST("I"."SIZE" AS DOUBLE) <= 2.500000e0 THEN 0 ELSE 1 END
              END AS SMALLINT) AS "__SQLBN_C1",
              CAST(CASE
                WHEN "I"."DAY" IS NULL
                THEN 2
                ELSE CASE WHEN "I"."DAY" <= CAST('2024-01-02' AS DATE) THEN 0 ELSE 1 END
              END AS SMALLINT) AS "__SQLBN_C2"
            FROM "NEW_ROWS" AS "I"
          ) AS "Q5"
        ) AS "S"
        JOIN "SMALL_FACTOR_0" AS "F0"
          ON "F0"."KEY" = "S"."__SQLBN_K0"
      ) AS "Q4"
    ) AS "Q3"
  ) AS "Q2"
) AS "Q1";
