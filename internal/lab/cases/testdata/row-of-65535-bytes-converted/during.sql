UPDATE t SET n = 2, a = 'ü' WHERE id = 2;
DELETE FROM t WHERE id = 3;
