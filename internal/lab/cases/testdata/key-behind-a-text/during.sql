UPDATE t SET name = 'AB' WHERE id = 1;
UPDATE t SET name = 'aB ' WHERE id = 2;
UPDATE t SET e = 'b' WHERE id = 3;
UPDATE t SET id = 9 WHERE id = 4;
INSERT INTO t VALUES (4, 'ab', 'c');
