CREATE TABLE t (k CHAR(40) CHARACTER SET big5, b INT, a INT, PRIMARY KEY (k, b));
INSERT INTO t VALUES ('b', 1, 1), ('a', 2, 2), ('', 2, 3);
