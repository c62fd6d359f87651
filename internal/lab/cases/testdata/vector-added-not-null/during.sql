UPDATE t SET v = 5 WHERE id = 1;
