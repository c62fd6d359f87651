UPDATE t SET a = 9 WHERE k = 'a	b';
DELETE FROM t WHERE k = '';
INSERT INTO t VALUES ('a	c', 1, 7), ('', 2, 8);
UPDATE t SET k = 'a	a' WHERE k = 'a';
