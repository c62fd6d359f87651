UPDATE t SET n = 1 WHERE id = 1;
