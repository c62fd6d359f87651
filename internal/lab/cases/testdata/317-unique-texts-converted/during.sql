UPDATE t SET a = 'z', b = 'z' WHERE id = 1; UPDATE t SET a = 'a', b = 'x' WHERE id = 2; UPDATE t SET a = 'b', b = 'y' WHERE id = 1;
