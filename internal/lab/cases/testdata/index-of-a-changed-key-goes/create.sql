CREATE TABLE t (a INT NOT NULL, b VARCHAR(9) NOT NULL, v INT, UNIQUE KEY k (a, b), KEY (v)) CHARACTER SET latin1;
INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4);
