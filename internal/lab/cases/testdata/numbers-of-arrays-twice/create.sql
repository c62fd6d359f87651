CREATE TABLE t (id INT PRIMARY KEY, j JSON); INSERT INTO t VALUES (1, '{"u": [1, 2]}'), (2, '{"u": 2}'), (3, '{"u": [3]}');
