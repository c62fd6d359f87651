UPDATE t SET title = 'x' WHERE id = 1;
