DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (k CHAR(40) CHARACTER SET latin1 NOT NULL, n INT NOT NULL, a CHAR(10) CHARACTER SET utf8, PRIMARY KEY (k, n));
INSERT INTO t VALUES ('a', 1, 'x'), ('b', 2, NULL), ('', 3, ''), ('c', 4, 'long'), ('gone', 5, 'y'), ('a\tb', 6, 'z'), ('five5', 7, 'é');
