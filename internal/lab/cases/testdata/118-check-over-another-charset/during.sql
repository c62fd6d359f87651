UPDATE t SET c = 'b' WHERE id = 1;
