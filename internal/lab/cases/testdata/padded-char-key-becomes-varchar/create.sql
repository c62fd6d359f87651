DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (k CHAR(9) CHARACTER SET latin1 NOT NULL, n INT NOT NULL, a CHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, PRIMARY KEY (k, n));
INSERT INTO t VALUES ('a', 1, 'x'), ('b', 2, NULL), ('', 3, ''), ('c', 4, 'longer'), ('gone', 5, 'y'), ('a\tb', 6, 'z');
