UPDATE t SET a = 'three' WHERE id = 1;
UPDATE t SET a = 'one' WHERE id = 2;
UPDATE t SET a = 'two' WHERE id = 1;
DELETE FROM t WHERE id = 3;
