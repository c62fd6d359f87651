CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300), x TEXT);
INSERT INTO t VALUES (1, 'a   ', 'a   '), (2, 'ab', 'abc'), (3, '     ', ''), (4, NULL, NULL);
