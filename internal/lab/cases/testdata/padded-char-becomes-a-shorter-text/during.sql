UPDATE t SET a = 'z', b = 'z' WHERE id = 2; INSERT INTO t VALUES (5, 'new', 'n', 'n', 'n', 'n');
