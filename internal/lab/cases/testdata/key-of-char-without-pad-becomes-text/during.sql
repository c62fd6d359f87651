UPDATE t SET a = 9 WHERE k = 'a	b';
DELETE FROM t WHERE k = 'a';
INSERT INTO t VALUES ('a	c', 7);
UPDATE t SET k = 'a	a' WHERE k = 'b';
