DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (a SET('','x','y') NOT NULL PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 1), (3, 2), (7, 3), (0, 4), (2, 5);
