CREATE TABLE t (k VARCHAR(120) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, c VARCHAR(120) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, a INT, PRIMARY KEY (k, c), UNIQUE (a));
INSERT INTO t VALUES ('ab   ', 'a ', 1), ('c  ', 'c', 2), ('d', 'd  ', 3), ('b ', 'b ', 4);
