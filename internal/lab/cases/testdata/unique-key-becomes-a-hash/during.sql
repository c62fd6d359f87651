UPDATE t SET v = 20 WHERE a = 'a';
DELETE FROM t WHERE a = 'b';
UPDATE t SET a = CONCAT(a, a), b = b - 1 WHERE b = 3;
UPDATE t SET a = 'b', b = 2 WHERE b = 4;
INSERT INTO t VALUES ('x', 4, 9);
