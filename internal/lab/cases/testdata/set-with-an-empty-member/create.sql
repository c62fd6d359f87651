DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (id INT PRIMARY KEY, a SET('','x','y') NOT NULL, b ENUM('','x','y'), v INT);
INSERT INTO t VALUES (1, 1, 1, 1), (2, 3, 2, 2), (3, 7, NULL, 3), (4, 0, 1, 4), (5, 2, 3, 5), (6, 6, 1, 6);
