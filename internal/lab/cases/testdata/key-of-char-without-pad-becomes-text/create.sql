CREATE TABLE t (k CHAR(9) CHARACTER SET latin1 COLLATE latin1_nopad_bin PRIMARY KEY, a INT) DEFAULT CHARACTER SET latin1;
INSERT INTO t VALUES ('a', 1), ('a	b', 2), ('', 3), ('	x', 4), ('b', 5), ('ö', 6);
