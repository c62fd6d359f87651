UPDATE t SET v = 20 WHERE a = 1;
DELETE FROM t WHERE a = 2;
UPDATE t SET a = 9 WHERE a = 3;
INSERT INTO t VALUES (2, 'e', 5), (7, 'f', 6);
