UPDATE t SET a = 'z' WHERE id = 2; INSERT INTO t VALUES (4, 'new', 'n');
