UPDATE t SET b = 'w', c = 'q' WHERE id = 1; UPDATE t SET b = 'x', c = 'p' WHERE id = 2;
