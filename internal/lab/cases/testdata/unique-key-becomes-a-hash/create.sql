DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (a VARCHAR(40) NOT NULL, b INT NOT NULL, v INT, UNIQUE KEY (a, b));
INSERT INTO t VALUES ('a', 1, 1), ('b', 2, 2), ('c', 3, 3), (REPEAT('x', 40), 4, 4);
