CREATE TABLE t (id INT PRIMARY KEY, j JSON, a INT); INSERT INTO t VALUES (1, '{"u": "long one"}', 1), (2, '{"u": "y"}', -2), (3, NULL, 3);
