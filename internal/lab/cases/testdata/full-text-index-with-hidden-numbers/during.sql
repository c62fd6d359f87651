UPDATE t SET title = 'x' WHERE id = 1;
INSERT INTO t VALUES (3, 'new');
