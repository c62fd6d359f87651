DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (id INT PRIMARY KEY, title VARCHAR(100), FULLTEXT KEY title (title));
INSERT INTO t VALUES (1, 'a b'), (2, 'c d');
