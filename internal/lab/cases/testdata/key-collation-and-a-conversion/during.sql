UPDATE t SET v = 20 WHERE k = 'B';
DELETE FROM t WHERE k = 'a';
INSERT INTO t VALUES ('C', 5, 'é');
