DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (n INT NOT NULL, k CHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci NOT NULL, v INT, PRIMARY KEY (n, k));
INSERT INTO t VALUES (1, 'a', 1), (1, 'B', 2), (2, 'é', 3);
