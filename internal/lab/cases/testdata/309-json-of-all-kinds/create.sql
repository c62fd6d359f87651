CREATE TABLE t (id INT PRIMARY KEY, j TEXT, k JSON, v INT CHECK (v > 0)); INSERT INTO t VALUES (1, '{"a": 1}', '[]', 1), (2, NULL, NULL, 2);
