UPDATE t SET c4 = 33 WHERE k = 'a'; UPDATE t SET k = 'd', c4 = 44 WHERE k = 'b'; INSERT INTO t VALUES ('e', 55);
