CREATE TABLE t (a SET('','x','y') NOT NULL, b INT NOT NULL, v INT, PRIMARY KEY (a, b));
INSERT INTO t VALUES (0, 1, 1), (2, 1, 2), (4, 1, 3), (6, 1, 4), (6, 2, 5);
