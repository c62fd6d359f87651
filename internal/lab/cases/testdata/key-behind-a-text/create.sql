DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (id INT NOT NULL, name VARCHAR(20) CHARACTER SET latin1 NOT NULL, e ENUM('a','b','c') NOT NULL, UNIQUE KEY k (id)) CHARACTER SET utf8mb4;
INSERT INTO t VALUES (1, 'ab', 'a'), (2, 'AB', 'b'), (3, 'ab ', 'c'), (4, '', 'a');
