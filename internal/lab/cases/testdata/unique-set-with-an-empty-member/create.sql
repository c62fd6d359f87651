DROP TABLE IF EXISTS t, t_old, digits;
CREATE TABLE digits (d INT PRIMARY KEY);
INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
SET SESSION sql_mode = '';
CREATE TABLE t (id INT PRIMARY KEY, v SET('', 'x', 'y'), n INT, UNIQUE KEY (v, n));
INSERT INTO t SELECT a.d * 1000 + b.d * 100 + c.d * 10 + e.d + 1, 0, a.d * 1000 + b.d * 100 + c.d * 10 + e.d FROM digits a, digits b, digits c, digits e;
INSERT INTO t SELECT 20000 + id, 1, n FROM t WHERE id <= 2000;
DROP TABLE digits;
