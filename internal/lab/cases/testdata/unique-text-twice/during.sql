UPDATE t SET b = 'z' WHERE id = 1;
UPDATE t SET b = 'x' WHERE id = 2;
UPDATE t SET a = 'two', n = 5 WHERE id = 1;
DELETE FROM t WHERE id = 3;
INSERT INTO t VALUES (4, 'one', 'y', 'e', 1);
