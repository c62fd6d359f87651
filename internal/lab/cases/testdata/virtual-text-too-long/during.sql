UPDATE t SET a = 3 WHERE id = 1;
