UPDATE t SET n = 5 WHERE id = 2;
