CREATE TABLE t (id INT PRIMARY KEY, j TEXT, k JSON); INSERT INTO t VALUES (1, '{"a": 1}', '[]'), (2, 'x', NULL);
