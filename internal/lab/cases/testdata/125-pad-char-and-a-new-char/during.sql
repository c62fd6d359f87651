UPDATE t SET v = 3;
