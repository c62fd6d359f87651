CREATE TABLE t (id INT PRIMARY KEY, j JSON, c VARCHAR(10)); INSERT INTO t VALUES (1, '{"u": ["long one"]}', '1'), (2, '{"u": ["y"]}', 'q'), (3, '{"u": [1]}', '3');
