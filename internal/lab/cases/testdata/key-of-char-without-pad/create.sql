CREATE TABLE t (k CHAR(9) COLLATE utf8mb4_nopad_bin, b INT, a INT, PRIMARY KEY (k, b));
INSERT INTO t VALUES ('a', 1, 1), ('a	b', 1, 2), ('', 1, 3), ('	', 1, 4), ('b', 1, 5), ('a	', 2, 6);
