INSERT INTO t (id, v) VALUES (3, 3);
UPDATE t SET v = 5 WHERE id = 1;
