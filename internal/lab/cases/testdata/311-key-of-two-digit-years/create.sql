CREATE TABLE t (y YEAR(2), v INT, PRIMARY KEY (y)); INSERT INTO t VALUES (69, 1), (70, 2), (0, 3), (99, 4), (1, 5);
