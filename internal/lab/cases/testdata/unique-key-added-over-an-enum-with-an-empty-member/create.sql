DROP TABLE IF EXISTS t, t_old;
SET SESSION sql_mode = '';
CREATE TABLE t (id INT PRIMARY KEY, v ENUM('x', 'y', ''));
INSERT INTO t VALUES (1, 0), (2, 3), (3, NULL), (4, NULL), (5, 'x');
