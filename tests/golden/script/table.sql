-- a table of a script
CREATE TABLE "fruit_factor_0" ("key" BIGINT, "l_0" DOUBLE);
