CREATE TABLE t (a INT NOT NULL, b VARCHAR(9) NOT NULL, v INT, PRIMARY KEY (b, a));
INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4);
