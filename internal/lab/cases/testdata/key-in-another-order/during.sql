UPDATE t SET b = 9 WHERE a = 1;
UPDATE t SET a = 100 WHERE a = 3;
DELETE FROM t WHERE a IN (5, 6);
INSERT INTO t VALUES (6, 5, 'new'), (5, 6, 'new');
UPDATE t SET v = 'other' WHERE a = 9;
UPDATE t SET b = b + 1 WHERE a BETWEEN 20 AND 30;
