UPDATE t SET a = 5, v = 20 WHERE id = 2;
DELETE FROM t WHERE id = 3;
INSERT INTO t VALUES (7, 1, 1, 7), (8, 7, 2, 8);
