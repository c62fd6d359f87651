CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20), b INT); INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2), (3, 'z', 3);
