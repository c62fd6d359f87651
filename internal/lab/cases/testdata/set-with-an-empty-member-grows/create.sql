DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (id INT PRIMARY KEY, a SET('','x','y') NOT NULL, b ENUM('','x','y'));
INSERT INTO t VALUES (1, 1, 1), (2, 3, 2), (3, 7, NULL), (4, 0, 1), (5, 2, 3), (6, 6, 1);
