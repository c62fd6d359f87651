UPDATE t SET name = 'changed' WHERE id = 3; DELETE FROM t WHERE id = 4; INSERT INTO t (id, name) VALUES (5, 'new');
