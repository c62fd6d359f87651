DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (k VARCHAR(20) NOT NULL PRIMARY KEY, v INT, s VARCHAR(10)) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
INSERT INTO t VALUES ('a', 1, 'x'), ('B', 2, 'Y'), ('é', 3, NULL), ('z ', 4, '');
