DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (k INT NOT NULL PRIMARY KEY, u CHAR(20) NOT NULL, v CHAR(20) NOT NULL, w CHAR(7) NOT NULL, UNIQUE KEY (u), UNIQUE KEY (v)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci;
INSERT INTO t VALUES (1, 'x', 'x', 'x'), (2, 'y', 'y', 'y'), (3, '', '', '');
