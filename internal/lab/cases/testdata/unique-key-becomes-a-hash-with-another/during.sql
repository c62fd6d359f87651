UPDATE t SET a = 'c' WHERE b = 2;
