-- an INSERT of a script
INSERT INTO "fruit_factor_0" ("key", "l_0") VALUES
(0, -1.5),
(1, -0.5);
