DROP TABLE IF EXISTS t, t_old; CREATE TABLE t (c1 CHAR(40) COLLATE utf8mb4_nopad_bin, c2 INT, c5 BINARY(16), PRIMARY KEY (c1, c2)); INSERT INTO t VALUES ('a\tb',1,'x'),('a',1,'y'),('',1,'z');
