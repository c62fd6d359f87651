CREATE TABLE t (id INT PRIMARY KEY, `select` INT, `from` INT, `add` INT);
INSERT INTO t VALUES (1, 10, 20, 3), (2, 30, 40, 4), (3, 50, NULL, 5);
