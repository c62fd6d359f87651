CREATE TABLE t (k VARCHAR(20) CHARACTER SET big5 COLLATE big5_bin, b INT, a INT, PRIMARY KEY (k, b));
INSERT INTO t VALUES ('中', 1, 1), ('文', 1, 2), ('a', 1, 3), ('', 1, 4), ('a b', 2, 5);
