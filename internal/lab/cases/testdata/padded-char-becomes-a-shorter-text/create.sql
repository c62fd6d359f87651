DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (id INT PRIMARY KEY, a CHAR(40) CHARACTER SET latin1, b CHAR(200) CHARACTER SET utf8, c CHAR(9) CHARACTER SET latin1, d CHAR(30) CHARACTER SET latin1, e CHAR(7) CHARACTER SET latin1);
INSERT INTO t VALUES (1, 'x', 'y', 'z', 'd', 'e'), (2, NULL, '', '', '', ''), (3, '', NULL, NULL, NULL, NULL), (4, 'five5', REPEAT('é', 120), 'abc', REPEAT('d', 20), 'four');
