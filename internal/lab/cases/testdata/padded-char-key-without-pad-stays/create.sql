DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (k CHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci PRIMARY KEY, a CHAR(10));
INSERT INTO t VALUES ('a', 'x'), ('a\tb', 'y'), ('', '');
