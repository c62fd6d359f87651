CREATE TABLE t (id INT PRIMARY KEY, 1a INT, a$b INT, `é` INT, ü INT, `x``y` INT);
INSERT INTO t VALUES (1, 10, 20, 3, 4, 5), (2, 30, 40, 4, 6, 7), (3, 50, NULL, 5, 8, 9);
