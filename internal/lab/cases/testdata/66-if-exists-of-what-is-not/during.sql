UPDATE t SET id = id + 100 WHERE id = 1;
