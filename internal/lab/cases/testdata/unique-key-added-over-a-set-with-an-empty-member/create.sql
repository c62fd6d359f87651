DROP TABLE IF EXISTS t, t_old;
SET SESSION sql_mode = '';
CREATE TABLE t (id INT PRIMARY KEY, v SET('', 'x', 'y'));
INSERT INTO t VALUES (1, 0), (2, 1), (3, NULL), (4, NULL), (5, 'x');
