CREATE TABLE t (k VARCHAR(120) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci PRIMARY KEY, a INT, UNIQUE (a));
INSERT INTO t VALUES ('ab   ', 1), ('c  ', 2), ('d', 3), ('b ', 4);
