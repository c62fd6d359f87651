UPDATE t SET v = 7 WHERE id = 1;
