CREATE TABLE t (k VARCHAR(6) CHARACTER SET latin1 COLLATE latin1_bin PRIMARY KEY, a INT);
INSERT INTO t VALUES ('a', 1), ('', 2), ('é', 3), ('abcdef', 4);
