UPDATE t SET x = 5 WHERE a = 'a'; DELETE FROM t WHERE a = 'b';
