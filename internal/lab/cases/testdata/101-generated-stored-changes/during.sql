UPDATE t SET a = 7, b = 'z' WHERE id = 1; INSERT INTO t VALUES (4,4,'w'); DELETE FROM t WHERE id = 3;
