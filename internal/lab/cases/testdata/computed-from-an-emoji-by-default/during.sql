INSERT INTO t (id, b) VALUES (3, 'x'); UPDATE t SET b = 'y' WHERE id = 2;
