UPDATE t SET v = 'b    ' WHERE id = 3;
INSERT INTO t VALUES (5, 'e   ', 'e   ');
DELETE FROM t WHERE id = 2;
