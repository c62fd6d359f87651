UPDATE t SET v = 'y' WHERE id = 1;
UPDATE t SET tenant = 9 WHERE id = 2;
UPDATE t SET id = 50 WHERE id = 3;
DELETE FROM t WHERE id = 4;
INSERT INTO t VALUES (4, 1, 'z'), (41, 7, 'z');
